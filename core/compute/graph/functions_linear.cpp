#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/pointwise.h"

namespace vergence {

namespace {
/// Gradient of what entered the activation: gradY itself where there is none.
Tensor beforeActivation(Graph& graph, Activation activation, const Tensor& before,
                        const Tensor& gradY)
{
    if (activation == Activation::None)
        return gradY;
    const Tensor gradient = graph.scratch(gradY.shape(), gradY.dtype());
    activateBackward(graph.stream(), activation, before, gradY, gradient, false);
    return gradient;
}

/// [N, ..] as [N, K]
Tensor asMatrix(const Tensor& weight)
{
    const Index rows = weight.extent(0);
    return weight.reshaped({rows, rows == 0 ? 0 : weight.size() / rows});
}

void linearBackward(Graph& graph, Value x, Value weight, Value bias, const Tensor& gradY)
{
    const Tensor gradRows = asRows(gradY);
    if (graph.needsGradient(x)) {
        const auto target = graph.gradientTarget(x);
        MatmulOptions how;
        how.beta = target.accumulate ? 1 : 0;
        graph.dense().matmul(graph.stream(), gradRows, asMatrix(graph.dense(weight)),
                             asRows(target.tensor), how);
    }
    if (SummedGradient gradWeight(graph, weight); gradWeight.get()) {
        MatmulOptions how;
        how.transposeA = true;
        how.beta = 1;
        graph.dense().matmul(graph.stream(), gradRows, asRows(graph.dense(x)),
                             asMatrix(*gradWeight.get()), how);
        gradWeight.finish();
    }
    if (SummedGradient gradBias(graph, bias); gradBias.get()) {
        addColumnSums(graph.stream(), gradRows, *gradBias.get());
        gradBias.finish();
    }
}
} // namespace

Value linear(Graph& graph, Value x, Value weight, const LinearOptions& options)
{
    const Tensor& input = graph.dense(x);
    const Tensor matrix = asMatrix(graph.dense(weight));
    expects(input.rank() >= 1 && input.shape().back() == matrix.extent(1),
            fmt::format("linear: x {} does not fit the weight {}", toString(input.shape()),
                        toString(graph.shape(weight))));
    Shape shape = input.shape();
    shape.back() = matrix.extent(0);
    const Tensor y = graph.take(shape, input.dtype());
    const bool keepsBefore =
        options.activation != Activation::None && graph.records({x, weight, options.bias});
    const Tensor before = keepsBefore ? graph.take(shape, input.dtype()) : Tensor{};
    const Tensor beforeRows = keepsBefore ? asRows(before) : Tensor{};
    MatmulOptions how;
    how.transposeB = true;
    how.bias = pointerTo(graph, options.bias);
    how.activation = options.activation;
    how.preActivation = keepsBefore ? &beforeRows : nullptr;
    how.packedB = options.packed;
    Tensor residualRows;
    if (options.residual) {
        residualRows = asRows(graph.dense(options.residual));
        how.residual = &residualRows;
    }
    graph.dense().matmul(graph.stream(), asRows(input), matrix, asRows(y), how);
    const Value bias = options.bias, residual = options.residual;
    return graph.record(y, {x, weight, bias, residual},
                        [x, weight, bias, residual, activation = options.activation,
                         before](Graph& g, const Tensor& gradY) {
                            g.passGradient(residual, gradY);
                            if (g.records({x, weight, bias}))
                                linearBackward(g, x, weight, bias,
                                               beforeActivation(g, activation, before, gradY));
                        });
}

namespace {
struct MatmulInputs {
    Value a, b;
    bool transposeA = false, transposeB = false;
    double alpha = 1;
};

/// The derivative with respect to b: alpha · op(a)ᵀ gradY, transposed where b was. One b for many a
/// takes the sum over the batch, matrix by matrix.
void matmulGradB(Graph& graph, const MatmulInputs& in, const Tensor& gradY)
{
    const auto target = graph.gradientTarget(in.b);
    const Tensor &a = graph.dense(in.a), &b = graph.dense(in.b);
    MatmulOptions how;
    how.alpha = in.alpha;
    how.beta = target.accumulate ? 1 : 0;
    how.transposeA = in.transposeB ? true : !in.transposeA;
    how.transposeB = in.transposeB ? in.transposeA : false;
    const auto product = [&](const Tensor& left, const Tensor& right) {
        if (in.transposeB)
            graph.dense().matmul(graph.stream(), right, left, target.tensor, how);
        else
            graph.dense().matmul(graph.stream(), left, right, target.tensor, how);
        how.beta = 1;
    };
    if (a.rank() == b.rank()) {
        product(a, gradY);
        return;
    }
    if (!in.transposeA) {
        product(asRows(a), asRows(gradY));
        return;
    }
    const Index batch = a.size() / (a.extent(-2 + a.rank()) * a.shape().back());
    const Tensor aAll = a.reshaped({batch, a.extent(a.rank() - 2), a.shape().back()});
    const Tensor gradAll =
        gradY.reshaped({batch, gradY.extent(gradY.rank() - 2), gradY.shape().back()});
    for (Index i = 0; i < batch; ++i)
        product(aAll.slice(i), gradAll.slice(i));
}

void matmulGradA(Graph& graph, const MatmulInputs& in, const Tensor& gradY)
{
    const auto target = graph.gradientTarget(in.a);
    const Tensor& b = graph.dense(in.b);
    MatmulOptions how;
    how.alpha = in.alpha;
    how.beta = target.accumulate ? 1 : 0;
    if (!in.transposeA) {
        how.transposeB = !in.transposeB;
        graph.dense().matmul(graph.stream(), gradY, b, target.tensor, how);
        return;
    }
    how.transposeA = in.transposeB;
    how.transposeB = true;
    if (b.rank() == gradY.rank()) {
        graph.dense().matmul(graph.stream(), b, gradY, target.tensor, how);
        return;
    }
    const Shape& shape = gradY.shape();
    const Index rows = shape[shape.size() - 2], columns = shape.back();
    const Index batch = gradY.size() / (rows * columns);
    const Tensor gradAll = gradY.reshaped({batch, rows, columns});
    const Tensor targetAll =
        target.tensor.reshaped({batch, target.tensor.size() / batch / rows, rows});
    for (Index i = 0; i < batch; ++i)
        graph.dense().matmul(graph.stream(), b, gradAll.slice(i), targetAll.slice(i), how);
}
} // namespace

Value matmul(Graph& graph, Value a, Value b, bool transposeA, bool transposeB, double alpha)
{
    const Tensor &left = graph.dense(a), &right = graph.dense(b);
    expects(left.rank() >= 2 && right.rank() >= 2 &&
                (right.rank() == left.rank() || right.rank() == 2),
            fmt::format("matmul: {} and {} are not matrices or batches of them",
                        toString(left.shape()), toString(right.shape())));
    Shape shape = left.shape();
    shape[shape.size() - 2] = left.extent(left.rank() - (transposeA ? 1 : 2));
    shape.back() = right.extent(right.rank() - (transposeB ? 2 : 1));
    const Tensor y = graph.take(shape, left.dtype());
    MatmulOptions how;
    how.transposeA = transposeA;
    how.transposeB = transposeB;
    how.alpha = alpha;
    graph.dense().matmul(graph.stream(), left, right, y, how);
    const MatmulInputs in{a, b, transposeA, transposeB, alpha};
    return graph.record(y, {a, b}, [in](Graph& g, const Tensor& gradY) {
        if (g.needsGradient(in.a))
            matmulGradA(g, in, gradY);
        if (g.needsGradient(in.b))
            matmulGradB(g, in, gradY);
    });
}

Value conv2d(Graph& graph, Value x, Value weight, const ConvOptions& options)
{
    const Tensor &input = graph.dense(x), &kernel = graph.dense(weight);
    Conv2dOptions how;
    how.layout = options.layout;
    how.stride = options.stride;
    how.padding = options.padding;
    const Conv2dOptions geometry = how;
    const Shape shape = conv2dShape(input.shape(), kernel.shape(), how);
    const Tensor y = graph.take(shape, input.dtype());
    const bool keepsBefore =
        options.activation != Activation::None && graph.records({x, weight, options.bias});
    const Tensor before = keepsBefore ? graph.take(shape, input.dtype()) : Tensor{};
    how.bias = pointerTo(graph, options.bias);
    how.residual = pointerTo(graph, options.residual);
    how.activation = options.activation;
    how.preActivation = keepsBefore ? &before : nullptr;
    graph.dense().conv2d(graph.stream(), input, kernel, y, how);
    const Value bias = options.bias, residual = options.residual;
    return graph.record(y, {x, weight, bias, residual},
                        [x, weight, bias, residual, geometry, activation = options.activation,
                         before](Graph& g, const Tensor& gradY) {
                            g.passGradient(residual, gradY);
                            if (!g.records({x, weight, bias}))
                                return;
                            const Tensor gradient = beforeActivation(g, activation, before, gradY);
                            if (g.needsGradient(x)) {
                                OverwrittenGradient gradX(g, x);
                                g.dense().conv2dBackwardData(g.stream(), gradient, g.dense(weight),
                                                             gradX.tensor(), geometry);
                                gradX.finish();
                            }
                            SummedGradient gradWeight(g, weight), gradBias(g, bias);
                            if (gradWeight.get()) {
                                g.dense().conv2dBackwardWeight(g.stream(), g.dense(x), gradient,
                                                               *gradWeight.get(), gradBias.get(),
                                                               true, geometry);
                            } else if (gradBias.get()) {
                                expects(geometry.layout == ImageLayout::Nhwc,
                                        "conv2d: a bias alone is trained with channels innermost");
                                addColumnSums(g.stream(), gradient, *gradBias.get());
                            }
                            gradWeight.finish();
                            gradBias.finish();
                        });
}

} // namespace vergence
