#include "plugins/light_field/compute/seed_kernels.h"

#include "core/compute/launch.h"
#include "plugins/light_field/compute/partial_sums.h"
#include "plugins/light_field/compute/table_math.h"
#if !defined(__CUDACC__)
#include "plugins/light_field/compute/seed_packs.h"
#endif

namespace vergence::light_field {

namespace {

#if defined(__CUDACC__)
struct TraceRay {
    SeedTraceArguments a;

    VERGENCE_HD void operator()(Index ray) const
    {
        const Index w = a.optics.resolution;
        const RaySample sample = a.samples[ray / (w * w * a.planes)];
        a.texels[ray] = -1;
        if (sample.pupilX != sample.pupilX)
            return;
        const SeedRay<float> start = seedEyeRay(
            a.optics, static_cast<int>(ray / w % w), static_cast<float>(ray % w),
            static_cast<float>(sample.pupilX), static_cast<float>(sample.pupilY), ScalarMath{});
        a.texels[ray] = static_cast<int>(
            seedTexel(a.optics, start, a.focals[ray / (w * w) % a.planes], ScalarMath{}));
    }
};

#endif

template <int L>
VERGENCE_HD void sparseRow(const SparseView& matrix, Index row, const float* x, float* sum)
{
    for (int n = matrix.start[row]; n < matrix.start[row + 1]; ++n) {
        const float weight = matrix.weight ? matrix.weight[n] : 1.0f;
        const float* from = x + static_cast<Index>(matrix.index[n]) * L;
        for (int lane = 0; lane < L; ++lane)
            sum[lane] += weight * from[lane];
    }
}

inline constexpr Index kChunk = 512; ///< rows that one item works on, and whose sums it adds

/// Images and residuals of a run of pixels.
template <int L>
struct ForwardChunk {
    SeedForwardArguments a;
    double* partial; ///< [chunks, 2 L]

    VERGENCE_HD void operator()(Index chunk) const
    {
        double squared[L] = {}, weighted[L] = {};
        const Index end =
            (chunk + 1) * kChunk < a.matrix.rows ? (chunk + 1) * kChunk : a.matrix.rows;
        Index first = chunk * kChunk;
#if !defined(__CUDACC__)
        if constexpr (L == 1) {
            if (a.matrix.packStart && a.subsetCount == 1)
                first = simd::forwardPacks(a, first, end, squared[0], weighted[0]);
        }
#endif
        for (Index pixel = first; pixel < end; ++pixel) {
            if (pixel / a.resolution % a.subsetCount != a.subsetIndex)
                continue;
            float sum[L] = {};
            sparseRow<L>(a.matrix, pixel, a.x, sum);
            const float omega = a.weights ? a.weights[pixel] : 1.0f;
            for (int lane = 0; lane < L; ++lane) {
                const Index at = pixel * L + lane;
                a.images[at] = sum[lane];
                if (!a.target)
                    continue;
                const float difference = sum[lane] - a.target[at];
                const double square =
                    static_cast<double>(difference) * static_cast<double>(difference);
                a.residual[at] = omega * difference;
                squared[lane] += square;
                weighted[lane] += static_cast<double>(omega) * square;
            }
        }
        for (int lane = 0; lane < L; ++lane) {
            partial[chunk * 2 * L + lane] = squared[lane];
            partial[chunk * 2 * L + L + lane] = weighted[lane];
        }
    }
};

/// Gradient and update of a run of texels.
template <int L>
struct AdjointChunk {
    SeedAdjointArguments a;
    TexelSums* partial;

    VERGENCE_HD void operator()(Index chunk) const
    {
        TexelSums sums{};
        const Index begin = chunk * kChunk;
        const Index end = begin + kChunk < a.matrix.rows ? begin + kChunk : a.matrix.rows;
#if defined(__CUDACC__)
        for (Index texel = begin; texel < end; ++texel) {
            float gradient[L] = {};
            sparseRow<L>(a.matrix, texel, a.residual, gradient);
            for (int lane = 0; lane < L; ++lane)
                updateValue<float>(a.update, texel, L, lane, gradient[lane], sums);
        }
#else
        alignas(64) float gradient[kChunk * L];
        Index first = begin;
        if constexpr (L == 1) {
            if (a.matrix.packStart)
                first = simd::sumPacks(a.matrix, begin, end, a.residual, gradient);
        }
        for (Index texel = first; texel < end; ++texel) {
            float sum[L] = {};
            sparseRow<L>(a.matrix, texel, a.residual, sum);
            for (int lane = 0; lane < L; ++lane)
                gradient[(texel - begin) * L + lane] = sum[lane];
        }
        simd::updateRun<L>(a.update, begin, static_cast<int>(end - begin), gradient, sums);
#endif
        partial[chunk] = sums;
    }
};

void trace(Stream& stream, const SeedTraceArguments& a)
{
    const Index w = a.optics.resolution;
#if defined(__CUDACC__)
    forEach(stream, a.sampleCount * w * w * a.planes, TraceRay{a}, 8192);
#else
    forEach(stream, a.sampleCount * w, simd::TraceRow{a}, 4);
#endif
}

void forward(Stream& stream, const SeedForwardArguments& a)
{
    const Index chunks = (a.matrix.rows + kChunk - 1) / kChunk;
    const Temporary memory(stream, chunks * 2 * a.lanes, sizeof(double));
    auto* partial = static_cast<double*>(memory.data());
    if (a.target && a.subsetCount > 1)
        stream.fillBytes(a.residual, 0,
                         static_cast<std::size_t>(a.matrix.rows * a.lanes) * sizeof(float));
    const Index grain = 1 + a.tileRays / kChunk;
    withLanes(a.lanes, [&](auto lanes) {
        forEach(stream, chunks, ForwardChunk<lanes()>{a, partial}, grain);
    });
    for (int i = 0; a.target && i < 2 * a.lanes; ++i)
        reduceInto(stream, chunks, ReadPartialSum{partial, 2 * a.lanes, i}, Plus{}, 0.0,
                   a.sums + i);
}

void adjoint(Stream& stream, const SeedAdjointArguments& a)
{
    const Index chunks = (a.matrix.rows + kChunk - 1) / kChunk;
    const Temporary memory(stream, chunks, sizeof(TexelSums));
    auto* partial = static_cast<TexelSums*>(memory.data());
    const Index grain = 1 + a.tileRays / kChunk;
    withLanes(a.lanes, [&](auto lanes) {
        forEach(stream, chunks, AdjointChunk<lanes()>{a, partial}, grain);
    });
    reduceInto(stream, chunks, ReadTexelSums{partial}, AddTexelSums{}, TexelSums{}, a.sums);
}

struct ScatterTexel {
    SeedScatterArguments a;

    VERGENCE_HD void operator()(Index i) const
    {
        float& full = a.planes[static_cast<Index>(a.texelOf[i / a.lanes]) * a.lanes + i % a.lanes];
        if (a.toPlanes)
            full = a.x[i];
        else
            a.x[i] = full;
    }
};

void scatter(Stream& stream, const SeedScatterArguments& a)
{
    forEach(stream, a.count * a.lanes, ScatterTexel{a}, 8192);
}

} // namespace

VERGENCE_REGISTER_KERNEL(seedTrace, trace)
VERGENCE_REGISTER_KERNEL(seedForward, forward)
VERGENCE_REGISTER_KERNEL(seedAdjoint, adjoint)
VERGENCE_REGISTER_KERNEL(seedScatter, scatter)

} // namespace vergence::light_field
