#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/compute/nn/dino.h"
#include "plugins/foveated_vlm/encoder/folded_linear.h"
#include "plugins/foveated_vlm/encoder/look_attention.h"

namespace vergence::fvlm {

/// How a query sees a frame: through all blocks beside the patches; or with one attention on the
/// final features, single-headed and averaging them, or with keys and values of the last block.
enum class QueryMode { Deep, ShallowAverage, ShallowLast };

struct QuerySettings {
    QueryMode mode = QueryMode::Deep;
    Index width = 384;            ///< Q of queries
    double deviation = 1;         ///< of start values of learned queries; for who declares them
    bool bias = false;            ///< of the projection of queries
    double temperature = 1;       ///< τ of looks, not of patches
    int topK = 0;                 ///< of looks: the k largest logits per head count; 0: all
    bool dropsClassToken = false; ///< ShallowAverage only: the class token is not looked at
};

/// Restructurings that change no result; each may be turned off to prove it.
struct Savings {
    bool deadTail = true;               ///< patches leave the last block with keys and values
    bool ridingQuery = true;            ///< a query known before encoding is one more token
    bool mergedBackward = true;         ///< gradients of keys and values are written once per block
    bool foldedScale = true;            ///< LayerScale within the products before it
    bool sharedLatents = true;          ///< of the prediction head
    bool jointLanguageGradients = true; ///< of both passes of the language model
};

/// The softmax weights that looks really used.
struct AttentionReadout {
    /// [M, blocks, heads, seen] F32 (F64), on the device; memory of its own. Deep: every block, its
    /// heads; ShallowAverage: one block of one head; ShallowLast: one block. `seen`: tokens of a
    /// frame (class, registers, patches row by row), without the class token where that is dropped.
    Tensor weights;
    // Set by who asks.
    bool wantsWeights = true, wantsEntropy = false;
    /// Mean over blocks and heads of −Σ p ln p, nats: [M] F32 (F64) on the tape, with its
    /// derivative; none unless wanted.
    Value entropy;
};

/// Frames that can be looked at; lives as long as its tape.
struct Encoded {
    Index frames = 0; ///< F
    Index tokens = 0; ///< N of a frame: class, registers, patches
    /// Shallow modes: last_hidden_state [F, N, D]; deep mode: none.
    Value features;
    /// z [F, D] of the riding query at every frame; none without one.
    Value coarse;

    // For looks: keys and values per block (one in shallow modes), and what waits there.
    std::vector<KeyWindow> keys;
    std::vector<std::shared_ptr<WaitingLooks>> waiting; ///< null: gradients are added at once
    std::vector<std::array<FoldedLinear, 2>> folded;    ///< per block; empty: not folded
};

/// DINOv2, with registers or without, that encodes frames once and answers any number of queries
/// about them: a query goes through the same blocks as one more token that the others do not see.
/// Its methods only read. ForwardPass::hook must be empty.
class GazeEncoder {
public:
    /// Declares the tower under `vit` ("encoder.dino.") and the projections under `connector`
    /// ("encoder."): query_input_proj.weight [D, Q] (bias [D] where told), output_proj.weight
    /// [D, D], output_proj.bias [D].
    GazeEncoder(const Declaration& vit, const Declaration& connector, const DinoConfig& config,
                const QuerySettings& query, const Savings& savings = {});

    /// Fixes the grid of patches of all frames from now on.
    void prepare(Stream& stream, const ParameterSet& parameters, Index rows, Index columns);

    /// patches [F, rows · columns, 3 · patch²], normalised, elements in the order channel, row,
    /// column, in the type that the parameters compute in. ridingQuery [1, Q] is put to every
    /// frame: Encoded::coarse; `readout` then receives its weights, M = F. Frozen parameters of the
    /// tower: neither tape nor temporaries are kept for the patches, looks still pass gradients to
    /// their queries. With
    /// pass.recomputes a block of patches keeps its input, its normalised input and its queries,
    /// keys and values. Throws ContractError where shapes do not fit or prepare() is missing.
    Encoded encode(const ForwardPass& pass, Value patches, Value ridingQuery = {},
                   AttentionReadout* readout = nullptr) const;

    /// queries [M, Q]; frames [M] I32 on the device: which encoded frame each looks at (any order,
    /// any number per frame), null: query i at frame i, M = F → z [M, D] after output_proj.
    Value look(const ForwardPass& pass, const Encoded& encoded, Value queries,
               const Tensor* frames = nullptr, AttentionReadout* readout = nullptr) const;

    const DinoTower& tower() const { return m_tower; }
    const DinoConfig& config() const { return m_tower.config(); }
    const QuerySettings& query() const { return m_query; }
    const Savings& savings() const { return m_savings; }
    Index rows() const { return m_rows; }       ///< of patches, of prepare()
    Index columns() const { return m_columns; } ///< of patches, of prepare()
    /// N: class token, registers, patches.
    Index tokens() const { return 1 + config().registers + m_rows * m_columns; }
    /// Shape of AttentionReadout::weights without M: blocks, heads, seen.
    std::array<Index, 3> readoutShape() const;

private:
    bool canRide(const ForwardPass& pass, bool wantsWeights) const;
    void foldScales(const ForwardPass& pass, Encoded& encoded) const;
    KeyWindow window(Value source, Index firstKey, Index firstValue) const;
    void keep(const ForwardPass& pass, Encoded& encoded, const KeyWindow& keys) const;
    Value encodeBlock(const ForwardPass& pass, Encoded& encoded, Value x, std::size_t block) const;
    Value mix(const ForwardPass& pass, const Encoded& encoded, Value context, Value residual,
              std::size_t block) const;
    void keepTail(const ForwardPass& pass, Encoded& encoded, Value x) const;
    void keepFeatures(const ForwardPass& pass, Encoded& encoded, Value x) const;
    Value lookFrom(const ForwardPass& pass, const Encoded& encoded, Value u, const Tensor* frames,
                   AttentionReadout* readout) const;
    Value lookThrough(const ForwardPass& pass, const Encoded& encoded, Value u, std::size_t first,
                      const Tensor* frames, AttentionReadout* readout) const;
    void addEntropy(Graph& graph, Value entropy, AttentionReadout& readout) const;
    Value attend(const ForwardPass& pass, const Encoded& encoded, Value q, std::size_t block,
                 const Tensor* frames, AttentionReadout* readout) const;

    DinoTower m_tower;
    LinearLayer m_input, m_output;
    QuerySettings m_query;
    Savings m_savings;
    Index m_rows = 0, m_columns = 0;
};

} // namespace vergence::fvlm
