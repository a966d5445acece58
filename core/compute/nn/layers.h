#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "core/compute/graph/functions.h"

namespace vergence {

/// Where the parameters of a module go: weight decay is for matrices alone.
struct LayerGroups {
    int matrices = 0;
    int others = 0;  ///< biases, norms, scales
    int tables = -1; ///< embeddings, positions, tokens; −1: as others
};

/// Declares the parameters of a module under a common prefix of their names.
class Declaration {
public:
    Declaration(ParameterSet& parameters, LayerGroups groups, std::string prefix = {});
    /// The same with `name` and a dot appended to the prefix.
    Declaration below(const std::string& name) const;

    /// Normal start values of that deviation.
    int matrix(const std::string& name, Shape shape, double deviation = 0.02) const;
    int matrix(const std::string& name, Shape shape, InitialValue initial) const;
    int other(const std::string& name, Shape shape, InitialValue initial = {}) const;
    /// Normal start values of that deviation.
    int table(const std::string& name, Shape shape, double deviation = 0.02) const;
    void window(const std::string& name, int parameter, Index firstRow, Index rows) const;

private:
    ParameterSet& m_parameters;
    LayerGroups m_groups;
    std::string m_prefix;
};

/// Weights of linear layers in the layout that the device's library likes best, made at their first
/// use and kept. For inference: invalidate() after the weights changed.
class PackedWeights {
public:
    const PackedWeight* find(Graph& graph, const ParameterSet& parameters, int index, Index first,
                             Index count, Index rows);
    void invalidate() { m_packed.clear(); }

private:
    std::map<std::tuple<const ParameterSet*, int, Index, Index>,
             std::shared_ptr<const PackedWeight>>
        m_packed;
};

/// Places in a tower where a lab may change a value (dropout, noise) or look at it.
enum class Site {
    PatchEmbedding,
    PositionAdd,
    Qkv, ///< queries, keys and values side by side
    AttentionOutput,
    Fc1, ///< before the activation
    AfterActivation,
    Fc2,
    BlockOutput,
    FinalProjection,
};

/// One evaluation of a model: the tape, the weights, and what is done differently this time. Copied
/// into segments of the tape, so all that it refers to must live until backward().
struct ForwardPass {
    Graph& graph;
    const ParameterSet& parameters;
    PackedWeights* packed = nullptr; ///< for inference
    bool recomputes = false; ///< blocks are checkpoint segments; saves memory, also in inference
    /// Called at every site of every block (−1 outside blocks) where set; epilogues are then not
    /// fused.
    std::function<Value(Graph&, Value, int block, Site)> hook;

    Value operator[](int parameter) const { return graph.parameter(parameters, parameter); }
    Value at(Value x, int block, Site site) const { return hook ? hook(graph, x, block, site) : x; }
};

/// x → activation(x Wᵀ + b) + residual with a weight [out, ..in] of a ParameterSet.
struct LinearLayer {
    int weight = -1;
    int bias = -1; ///< −1: none

    static LinearLayer declare(const Declaration& where, Index in, Index out, bool bias = true);
    /// The same with start values of weight and bias even in [−1/√in, 1/√in).
    static LinearLayer declareUniform(const Declaration& where, Index in, Index out,
                                      bool bias = true);
    Value operator()(const ForwardPass& pass, Value x, Activation activation = Activation::None,
                     Value residual = {}) const;
    /// Rows [first, first + count) of weight and bias alone.
    Value rows(const ForwardPass& pass, Value x, Index first, Index count) const;
};

/// LayerNorm, or RMSNorm where there is no bias.
struct NormLayer {
    int weight = -1;
    int bias = -1;
    double epsilon = 1e-5;

    static NormLayer declare(const Declaration& where, Index width, double epsilon, bool rms);
    Value operator()(const ForwardPass& pass, Value x) const;
};

} // namespace vergence
