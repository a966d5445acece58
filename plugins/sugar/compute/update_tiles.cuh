#pragma once

// The CUDA driver of the backward pass per Gaussian: one thread per Gaussian forms all gradients,
// which are stored, or stay in shared memory for Adam.

#include "plugins/sugar/compute/project_tiles.cuh"
#include "plugins/sugar/compute/row_block.cuh"

namespace vergence::sugar {

namespace {

/// Gradients of one Gaussian: position, ln s, rotation, opacity, harmonics of degree 0, the rest.
struct OneGradient {
    float value[14 + 45];
};

struct GroupSpan {
    int from, width, used; ///< place in OneGradient, numbers per row, and how many take part
};

__device__ inline GroupSpan groupSpan(const RasterView& view, int group)
{
    switch (group) {
    case 0:
        return {0, 3, 3};
    case 1:
        return {3, 3, 3};
    case 2:
        return {6, 4, 4};
    case 3:
        return {10, 1, 1};
    case 4:
        return {11, 3, 3};
    default:
        return {14, 3 * view.restCount, 3 * (shCoefficients(view.shDegree) - 1)};
    }
}

template <class T>
__device__ inline T* pointerOf(const GaussianPointers<T>& arrays, int group)
{
    switch (group) {
    case 0:
        return arrays.position;
    case 1:
        return arrays.logScale;
    case 2:
        return arrays.rotation;
    case 3:
        return arrays.opacity;
    case 4:
        return arrays.shDc;
    default:
        return arrays.shRest;
    }
}

template <int Degree>
__device__ void gradientOf(const GaussianBackwardArguments& a, Index i, OneGradient& out)
{
    const RasterView& view = a.view;
    float sums[16] = {};
    const Index first = a.slots ? a.slots[i] : i;
    for (unsigned k = 0; k < a.counts[i]; ++k) {
        const auto* from = reinterpret_cast<const float*>(a.records + first + k);
        for (int j = 0; j < 15; ++j)
            sums[j] += from[j];
    }
    const RawGaussian<float> raw = loadGaussian(view, i);
    const Projection<float> p = project<float>(view.camera, view.blur, raw);
    SplatGradient<float> g;
    g.u = p.conicA * sums[1] + p.conicB * sums[2];
    g.v = p.conicB * sums[1] + p.conicC * sums[2];
    g.conicA = 0.5F * sums[3];
    g.conicB = sums[4];
    g.conicC = 0.5F * sums[5];
    g.opacity = -sums[0] / p.opacity;
    g.depth = sums[9];
    for (int k = 0; k < 3; ++k)
        g.normal[k] = sums[10 + k];
    RawGradient<float> grad;
    projectBackward(view.camera, raw, p, g, grad);
    float d[3], basis[16], weights[16] = {}, gradD[3];
    const float inverse = directionOf(view, raw, d);
    shBasis<Degree>(d, basis);
    for (int channel = 0; channel < 3; ++channel) {
        float h[16], sum = 0.5F;
        for (int k = 0; k < shCoefficients(Degree); ++k) {
            h[k] = coefficientOf(view, i, k, channel);
            sum += basis[k] * h[k];
        }
        const float gradColour = sum >= 0 ? sums[6 + channel] : 0.0F;
        for (int k = 0; k < shCoefficients(Degree); ++k) {
            out.value[11 + 3 * k + channel] = gradColour * basis[k];
            weights[k] += gradColour * h[k];
        }
    }
    shBasisBackward<Degree>(d, weights, gradD);
    const float along = dot3(gradD, d);
    for (int k = 0; k < 3; ++k) {
        out.value[k] = grad.position[k] + (gradD[k] - along * d[k]) * inverse;
        out.value[3 + k] = grad.logScale[k];
    }
    for (int k = 0; k < 4; ++k)
        out.value[6 + k] = grad.rotation[k];
    out.value[10] = grad.opacity;
    if (!a.statistics.gradient)
        return;
    const float halfWidth = 0.5F * static_cast<float>(view.camera.width),
                halfHeight = 0.5F * static_cast<float>(view.camera.height);
    const float tau2 = 2 * logf(255 * p.opacity), radius = sqrtf(tau2 * fmaxf(p.a, p.c));
    a.statistics.gradient[i] += hypotf(halfWidth * g.u, halfHeight * g.v);
    if (a.statistics.absolute)
        a.statistics.absolute[i] += hypotf(halfWidth * sums[13], halfHeight * sums[14]);
    a.statistics.visible[i] += 1;
    a.statistics.radius[i] = fmaxf(a.statistics.radius[i], radius);
}

template <int Degree>
struct StoreOne {
    GaussianBackwardArguments a;

    __device__ void operator()(Index i) const
    {
        OneGradient gradient{};
        if (a.counts[i] > 0)
            gradientOf<Degree>(a, i, gradient);
        for (int group = 0; group < 6; ++group) {
            const GroupSpan span = groupSpan(a.view, group);
            for (int k = 0; pointerOf(a.gradients, group) && k < span.width; ++k)
                pointerOf(a.gradients, group)[i * span.width + k] = gradient.value[span.from + k];
        }
    }
};

/// What is found out about a Gaussian before its update.
enum Finding : unsigned { kNotFinite = 1, kHasExtra = 2 };

__device__ inline void note(unsigned& findings, float gradient, float extra)
{
    if (!isfinite(gradient))
        atomicOr(&findings, kNotFinite);
    else if (extra != 0)
        atomicOr(&findings, kHasExtra);
}

__device__ inline bool takesPart(const GaussianBackwardArguments& a, Index i, unsigned findings)
{
    const bool isWanted =
        !a.sparse || a.counts[i] > 0 || (a.keepsExtra && (findings & kHasExtra) != 0);
    return isWanted && (findings & kNotFinite) == 0;
}

/// Adam on kBlock Gaussians: one thread forms the gradients of each, then all threads walk through
/// the numbers of a group as they lie in memory.
template <int Degree>
__global__ void __launch_bounds__(kBlock, 8) updateBlock(GaussianBackwardArguments a)
{
    __shared__ OneGradient gradients[kBlock];
    __shared__ unsigned findings[kBlock];
    const auto own = static_cast<int>(threadIdx.x);
    const RowBlock<kBlock> block(a.last - a.first);
    if (own < block.rows) {
        findings[own] = 0;
        gradients[own] = {};
        if (a.counts[block.first + own] > 0)
            gradientOf<Degree>(a, block.first + own, gradients[own]);
    }
    __syncthreads();
    for (int group = 0; group < 6; ++group) {
        const GroupSpan span = groupSpan(a.view, group);
        const float* extra = pointerOf(a.extra, group);
        block.eachNumber(span.width, [&](int row, int k, Index place) {
            if (k >= span.used)
                return;
            float& value = gradients[row].value[span.from + k];
            const float more = extra ? extra[place] : 0.0F;
            value += more;
            note(findings[row], value, more);
        });
    }
    __syncthreads();
    for (int group = 0; group < 6; ++group) {
        const GroupSpan span = groupSpan(a.view, group);
        withMoments(a.compactMoments, group, pointerOf(a.moment1, group),
                    pointerOf(a.moment2, group), [&](auto* moment1, auto* moment2) {
                        block.eachNumber(span.width, [&](int row, int k, Index place) {
                            if (k < span.used && takesPart(a, block.first + row, findings[row]))
                                adamGroup(a.adam, group, 1,
                                          gradients[row].value + span.from + k, moment1 + place,
                                          moment2 + place, pointerOf(a.values, group) + place,
                                          place);
                        });
                    });
    }
    const int skipped = __syncthreads_count(own < block.rows && (findings[own] & kNotFinite));
    if (own == 0)
        a.skipped[blockIdx.x] = skipped;
}

void gaussianBackwardBody(Stream& stream, const GaussianBackwardArguments& a)
{
    withDegree(a.view.shDegree,
               [&](auto degree) { forEach(stream, a.last - a.first, StoreOne<degree()>{a}); });
}

void gaussianUpdateBody(Stream& stream, const GaussianBackwardArguments& a)
{
    const Index rows = a.last - a.first;
    if (rows == 0)
        return;
    const auto blocks = static_cast<unsigned>((rows + kBlock - 1) / kBlock);
    withDegree(a.view.shDegree, [&](auto degree) {
        updateBlock<degree()>
            <<<blocks, kBlock, 0, static_cast<cudaStream_t>(stream.native())>>>(a);
    });
    checkLaunch(stream, "sugar.gaussianUpdate");
}

} // namespace

} // namespace vergence::sugar
