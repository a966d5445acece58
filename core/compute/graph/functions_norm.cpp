#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/loss.h"
#include "core/compute/ops/norm.h"

namespace vergence {

namespace {
/// Target of gradX where it is wanted, else scratch.
Graph::GradientTarget targetOrScratch(Graph& graph, Value x)
{
    if (graph.needsGradient(x))
        return graph.gradientTarget(x);
    return {graph.scratch(graph.shape(x), graph.tensor(x).dtype()), false};
}

Index rowsOf(const Tensor& x)
{
    return asRows(x).extent(0);
}
} // namespace

Value layerNorm(Graph& graph, Value x, Value weight, Value bias, double epsilon)
{
    const Tensor& input = graph.dense(x);
    const Tensor y = takeLike(graph, input);
    const bool keeps = graph.records({x, weight, bias});
    Tensor mean, rstd;
    LayerNormArgs args;
    args.weight = pointerTo(graph, weight);
    args.bias = pointerTo(graph, bias);
    args.epsilon = epsilon;
    if (keeps) {
        mean = graph.take({rowsOf(input)}, sumType(input.dtype()));
        rstd = graph.take({rowsOf(input)}, sumType(input.dtype()));
        args.mean = &mean;
        args.rstd = &rstd;
    }
    layerNorm(graph.stream(), input, y, args);
    return graph.record(
        y, {x, weight, bias}, [x, weight, bias, mean, rstd](Graph& g, const Tensor& gradY) {
            const auto target = targetOrScratch(g, x);
            SummedGradient gradWeight(g, weight), gradBias(g, bias);
            layerNormBackward(g.stream(), g.dense(x), pointerTo(g, weight), mean, rstd, gradY,
                              target.tensor, target.accumulate, gradWeight.get(), gradBias.get());
            gradWeight.finish();
            gradBias.finish();
        });
}

Value rmsNorm(Graph& graph, Value x, Value weight, double epsilon)
{
    const Tensor& input = graph.dense(x);
    const Tensor y = takeLike(graph, input);
    Tensor rstd;
    RmsNormArgs args;
    args.weight = pointerTo(graph, weight);
    args.epsilon = epsilon;
    if (graph.records({x, weight})) {
        rstd = graph.take({rowsOf(input)}, sumType(input.dtype()));
        args.rstd = &rstd;
    }
    rmsNorm(graph.stream(), input, y, args);
    return graph.record(y, {x, weight}, [x, weight, rstd](Graph& g, const Tensor& gradY) {
        const auto target = targetOrScratch(g, x);
        SummedGradient gradWeight(g, weight);
        rmsNormBackward(g.stream(), g.dense(x), pointerTo(g, weight), rstd, gradY, target.tensor,
                        target.accumulate, gradWeight.get());
        gradWeight.finish();
    });
}

Value groupNorm(Graph& graph, Value x, Value weight, Value bias, int groups, double epsilon,
                bool silu, bool channelsLast)
{
    const Tensor& input = graph.dense(x);
    const Tensor y = takeLike(graph, input);
    const bool keeps = graph.records({x, weight, bias});
    Tensor mean, rstd;
    GroupNormArgs args;
    args.groups = groups;
    args.epsilon = epsilon;
    args.silu = silu;
    args.channelsLast = channelsLast;
    const GroupNormArgs plain = args;
    args.weight = pointerTo(graph, weight);
    args.bias = pointerTo(graph, bias);
    if (keeps) {
        expects(input.rank() == 4 && groups > 0,
                fmt::format("groupNorm: {} is not a batch of images, or no groups",
                            toString(input.shape())));
        mean = graph.take({input.extent(0), groups}, sumType(input.dtype()));
        rstd = graph.take({input.extent(0), groups}, sumType(input.dtype()));
        args.mean = &mean;
        args.rstd = &rstd;
    }
    groupNorm(graph.stream(), input, y, args);
    return graph.record(
        y, {x, weight, bias}, [x, weight, bias, plain, mean, rstd](Graph& g, const Tensor& gradY) {
            const auto target = targetOrScratch(g, x);
            SummedGradient gradWeight(g, weight), gradBias(g, bias);
            GroupNormArgs kept = plain;
            kept.weight = pointerTo(g, weight);
            kept.bias = pointerTo(g, bias);
            kept.mean = &mean;
            kept.rstd = &rstd;
            groupNormBackward(g.stream(), g.dense(x), gradY, target.tensor, target.accumulate,
                              gradWeight.get(), gradBias.get(), kept);
            gradWeight.finish();
            gradBias.finish();
        });
}

Value softmax(Graph& graph, Value x)
{
    const Tensor y = takeLike(graph, graph.tensor(x));
    softmax(graph.stream(), graph.dense(x), y);
    return graph.record(y, {x}, [x, y](Graph& g, const Tensor& gradY) {
        const auto target = g.gradientTarget(x);
        softmaxBackward(g.stream(), y, gradY, target.tensor, target.accumulate);
    });
}

} // namespace vergence
