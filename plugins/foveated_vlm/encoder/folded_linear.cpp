#include "plugins/foveated_vlm/encoder/folded_linear.h"

#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/foveated_vlm/encoder/fold_kernels.h"

namespace vergence::fvlm {

/// The folded layer and the gradients that its users bring together.
struct FoldedLinear::Shared {
    Tensor weight, bias;         ///< λ ⊙ W, λ ⊙ b
    Tensor gradWeight, gradBias; ///< sums; empty where nobody learns
    Tensor scale, weightMaster, biasMaster;
    Value source; ///< [1]; its gradient makes the mapping back due
    bool hasGradient = false;

    void addGradients(Graph& graph, const Tensor& x, const Tensor& gradY);
    void mapBack(Graph& graph, Value weightValue, Value biasValue, Value scaleValue);
};

void FoldedLinear::Shared::addGradients(Graph& graph, const Tensor& x, const Tensor& gradY)
{
    if (!hasGradient)
        graph.stream().fillBytes(gradBias.data(), 0, gradBias.bytes());
    MatmulOptions how;
    how.transposeA = true;
    how.beta = hasGradient ? 1 : 0;
    const Tensor rows = asRows(gradY);
    graph.dense().matmul(graph.stream(), rows, asRows(x), gradWeight, how);
    addColumnSums(graph.stream(), rows, gradBias);
    hasGradient = true;
    graph.gradientTarget(source); // its number says nothing
}

void FoldedLinear::Shared::mapBack(Graph& graph, Value weightValue, Value biasValue,
                                   Value scaleValue)
{
    const auto target = [&](Value value) {
        return graph.needsGradient(value) ? graph.gradientTarget(value).tensor.data() : nullptr;
    };
    UnfoldArguments a;
    a.type = gradWeight.dtype();
    a.rows = weight.extent(0), a.columns = weight.extent(1);
    a.scale = scale.data(), a.weight = weightMaster.data(), a.bias = biasMaster.data();
    a.gradFoldedWeight = gradWeight.data(), a.gradFoldedBias = gradBias.data();
    a.gradScale = target(scaleValue);
    a.gradWeight = target(weightValue);
    a.gradBias = target(biasValue);
    unfoldGradients(graph.stream(), a);
}

FoldedLinear::FoldedLinear(const ForwardPass& pass, const LinearLayer& layer, int scale)
    : m_shared(std::make_shared<Shared>())
{
    Graph& graph = pass.graph;
    const Value weight = pass[layer.weight], bias = pass[layer.bias], lambda = pass[scale];
    Shared& shared = *m_shared;
    shared.weightMaster = pass.parameters[layer.weight].value;
    shared.biasMaster = pass.parameters[layer.bias].value;
    shared.scale = pass.parameters[scale].value;
    const DType type = pass.parameters.computeType(), sums = sumType(type);
    expects(shared.weightMaster.dtype() == sums, "FoldedLinear: the master is not of full width");
    const Shape shape = shared.weightMaster.shape();
    shared.weight = graph.take(shape, type);
    shared.bias = graph.take({shape[0]}, type);
    FoldArguments a;
    a.type = type;
    a.rows = shape[0], a.columns = shape[1];
    a.scale = shared.scale.data();
    a.weight = shared.weightMaster.data(), a.bias = shared.biasMaster.data();
    a.foldedWeight = shared.weight.data(), a.foldedBias = shared.bias.data();
    foldLinear(graph.stream(), a);
    if (graph.records({weight, bias, lambda})) {
        shared.gradWeight = graph.take(shape, sums);
        shared.gradBias = graph.take({shape[0]}, sums);
    }
    shared.source = graph.record(graph.take({1}, sums), {weight, bias, lambda},
                                 [held = m_shared, weight, bias, lambda](Graph& g, const Tensor&) {
                                     held->mapBack(g, weight, bias, lambda);
                                 });
}

Value FoldedLinear::operator()(Graph& graph, Value x, Value residual) const
{
    const Tensor& input = graph.dense(x);
    Shape shape = input.shape();
    shape.back() = m_shared->weight.extent(0);
    const Tensor y = graph.take(shape, input.dtype());
    const Tensor residualRows = asRows(graph.dense(residual));
    MatmulOptions how;
    how.transposeB = true;
    how.bias = &m_shared->bias;
    how.residual = &residualRows;
    graph.dense().matmul(graph.stream(), asRows(input), m_shared->weight, asRows(y), how);
    return graph.record(y, {x, residual, m_shared->source},
                        [x, residual, shared = m_shared](Graph& g, const Tensor& gradY) {
                            g.passGradient(residual, gradY);
                            if (g.needsGradient(x)) {
                                const auto target = g.gradientTarget(x);
                                MatmulOptions back;
                                back.beta = target.accumulate ? 1 : 0;
                                g.dense().matmul(g.stream(), asRows(gradY), shared->weight,
                                                 asRows(target.tensor), back);
                            }
                            if (g.needsGradient(shared->source))
                                shared->addGradients(g, g.dense(x), gradY);
                        });
}

} // namespace vergence::fvlm
