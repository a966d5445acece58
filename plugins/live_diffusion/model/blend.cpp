#include "plugins/live_diffusion/model/blend.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/compute/graph/gradient_help.h"
#include "plugins/live_diffusion/model/blend_math.h"
#include "plugins/live_diffusion/model/tape_kernels.h"

namespace vergence::live {

namespace {

/// Pixels whose weights are at hand while the channels pass by.
constexpr Index kBlock = 64;

} // namespace

double blendWeight(double logit, double beta)
{
    return BlendShare<double>(logit, beta).ofNew;
}

void temporalBlend(std::span<const float> x0, std::span<const float> previous,
                   std::span<const float> logits, double beta, const BlendExtents& extents,
                   std::span<float> y)
{
    const Index plane = extents.pixels, image = extents.channels * plane;
    const auto numbers = static_cast<std::size_t>(extents.rows * image);
    expects(x0.size() == numbers && y.size() == numbers &&
                (previous.empty() || previous.size() == numbers) &&
                logits.size() == static_cast<std::size_t>(extents.rows * plane),
            fmt::format("temporalBlend: {}, {} and {} numbers with {} logits do not fit {} images "
                        "of {} by {}",
                        x0.size(), previous.size(), y.size(), logits.size(), extents.rows,
                        extents.channels, plane));
    expects(beta >= 0 && beta <= 1, fmt::format("temporalBlend: β = {} is not in [0, 1]", beta));
    const Index blocks = (plane + kBlock - 1) / kBlock;
    for (Index block = 0; block < extents.rows * blocks; ++block) {
        const Index row = block / blocks, first = block % blocks * kBlock;
        const auto count = static_cast<std::size_t>(std::min(kBlock, plane - first));
        std::array<float, kBlock> ofLast;
        for (std::size_t k = 0; k < count; ++k) {
            const float logit = logits[static_cast<std::size_t>(row * plane + first) + k];
            ofLast[k] = 1 - BlendShare<float>(logit, static_cast<float>(beta)).ofNew;
        }
        for (Index c = 0; c < extents.channels; ++c) {
            const auto at = static_cast<std::size_t>(row * image + c * plane + first);
            const float* last = previous.empty() ? x0.data() + at : previous.data() + at;
            for (std::size_t k = 0; k < count; ++k) { // exact where both are equal
                const float clean = x0[at + k];
                y[at + k] = std::clamp(clean + ofLast[k] * (last[k] - clean), -1.0f, 1.0f);
            }
        }
    }
}

Value temporalBlend(Graph& graph, Value x0, const Tensor& previous, Value logits, double beta)
{
    const Tensor& x = graph.dense(x0);
    expectSameShape(x, previous);
    BlendArguments args;
    args.type = x.dtype();
    args.channels = x.shape().back();
    args.pixels = x.size() / args.channels;
    expects(graph.tensor(logits).size() == args.pixels,
            fmt::format("temporalBlend: logits {} for images {}", toString(graph.shape(logits)),
                        toString(x.shape())));
    args.beta = beta;
    const Tensor y = graph.take(x.shape(), x.dtype());
    const auto point = [previous, x0, logits](Graph& g, BlendArguments a) {
        a.x0 = g.dense(x0).data();
        a.previous = previous.data();
        a.logits = g.dense(logits).data();
        return a;
    };
    args.y = y.data();
    blendKernel(graph.stream(), point(graph, args));
    return graph.record(y, {x0, logits}, [=](Graph& g, const Tensor& gradY) {
        OverwrittenGradient gradX(g, x0);
        Tensor gradLogits = g.scratch(g.shape(logits), gradY.dtype());
        BlendArguments a = point(g, args);
        a.gradY = gradY.data();
        a.gradX0 = gradX.tensor().data();
        a.gradLogits = gradLogits.data();
        blendBackwardKernel(g.stream(), a);
        gradX.finish();
        g.passGradient(logits, gradLogits);
    });
}

} // namespace vergence::live
