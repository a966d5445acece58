#include "plugins/foveated_vlm/model/visual_norm.h"

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/norm.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/scalar.h"

namespace vergence::fvlm {

// r = (v + ε)^−½, x̂ = (x − mean) r:  y = f r x,  dx = f r g − f r² (Σ g x) / n · x̂
Value scaleByDeviation(Graph& graph, Value x, double factor, double epsilon)
{
    const Tensor input = graph.dense(x);
    const Index n = input.size();
    const DType sums = sumType(input.dtype());
    const Tensor row = input.reshaped({1, n});
    const Tensor standard = graph.take({1, n}, input.dtype());
    const Tensor mean = graph.take({1}, sums), rstd = graph.take({1}, sums);
    LayerNormArgs args;
    args.epsilon = epsilon;
    args.mean = &mean;
    args.rstd = &rstd;
    layerNorm(graph.stream(), row, standard, args);
    const Tensor gain = graph.take({1}, sums);
    scale(graph.stream(), factor, rstd, gain);
    const Tensor y = graph.take(input.shape(), input.dtype());
    scaleByDevice(graph.stream(), input, gain, y, false);
    return graph.record(y, {x}, [x, n, sums, standard, rstd, gain](Graph& g, const Tensor& gradY) {
        const auto target = g.gradientTarget(x);
        scaleByDevice(g.stream(), gradY, gain, target.tensor, target.accumulate);
        const Tensor back = g.scratch({1}, sums);
        dotProduct(g.stream(), gradY, g.dense(x), back);
        multiply(g.stream(), back, gain, back);
        multiply(g.stream(), back, rstd, back);
        scale(g.stream(), -1 / static_cast<double>(n), back, back);
        scaleByDevice(g.stream(), standard.reshaped(gradY.shape()), back, target.tensor, true);
    });
}

Value rowCosines(Graph& graph, Value a, Value b)
{
    constexpr double kEpsilon = 1e-30; // a row of zeros has no direction
    const DType wide = sumType(graph.tensor(a).dtype());
    const auto direction = [&](Value x) {
        return rmsNorm(graph, cast(graph, x, wide), {}, kEpsilon);
    };
    const Value product = multiply(graph, direction(a), direction(b));
    const Index rows = graph.shape(a)[0], width = graph.shape(a)[1];
    const Tensor mean = graph.take({1, width}, wide);
    fill(graph.stream(), mean, 1 / static_cast<double>(width));
    return reshape(graph, linear(graph, product, graph.constant(mean)), {rows});
}

} // namespace vergence::fvlm
