#include "plugins/light_field/compute/seed_kernels.h"

#include "core/compute/ops/loops.h"
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

/// Rows that one item works on, a team of threads on CUDA, and whose sums it adds.
inline constexpr Index kChunk = 512;

/// Images and residuals of a run of pixels.
template <int L>
struct ForwardChunk {
    SeedForwardArguments a;
    double* partial; ///< [chunks, 2 L]

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index chunk) const
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
        team.eachItem(end - first, [&](Index i) VERGENCE_INLINE {
            const Index pixel = first + i;
            if (pixel / a.resolution % a.subsetCount != a.subsetIndex)
                return;
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
        });
        if (!a.target)
            return;
        for (int lane = 0; lane < L; ++lane) {
            const double plain = team.total(squared[lane]), shared = team.total(weighted[lane]);
            if (team.isFirst()) {
                partial[chunk * 2 * L + lane] = plain;
                partial[chunk * 2 * L + L + lane] = shared;
            }
        }
    }
};

/// Gradient and update of a run of texels.
template <int L>
struct AdjointChunk {
    SeedAdjointArguments a;
    TexelSums* partial;

    template <class Group>
    VERGENCE_HD void operator()(const Group& team, Index chunk) const
    {
        TexelSums sums{};
        const Index begin = chunk * kChunk;
        const Index end = begin + kChunk < a.matrix.rows ? begin + kChunk : a.matrix.rows;
#if defined(__CUDACC__)
        team.eachItem(end - begin, [&](Index i) {
            float gradient[L] = {};
            sparseRow<L>(a.matrix, begin + i, a.residual, gradient);
            for (int lane = 0; lane < L; ++lane)
                updateValue<float>(a.update, begin + i, L, lane, gradient[lane], sums);
        });
        for (int lane = 0; lane < L; ++lane)
            sums.restart[lane] = team.total(sums.restart[lane]);
        sums.gradientSquared = team.total(sums.gradientSquared);
        sums.atZero = team.total(sums.atZero);
        sums.atOne = team.total(sums.atOne);
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
        if (team.isFirst())
            partial[chunk] = sums;
    }
};

/// body(team, chunk); `grain` is the least number of chunks worth a task on the CPU.
template <class Body>
void forEachRun(Stream& stream, Index chunks, const Body& body, [[maybe_unused]] Index grain)
{
#if defined(__CUDACC__)
    forEachChunk<float>(stream, chunks, body);
#else
    forEach(
        stream, chunks, [body](Index chunk) { body(Team{}, chunk); }, grain);
#endif
}

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
        forEachRun(stream, chunks, ForwardChunk<lanes()>{a, partial}, grain);
    });
    if (a.target)
        sumColumns(stream, partial, chunks, 2 * a.lanes, a.sums);
}

void adjoint(Stream& stream, const SeedAdjointArguments& a)
{
    const Index chunks = (a.matrix.rows + kChunk - 1) / kChunk;
    const Temporary memory(stream, chunks, sizeof(TexelSums));
    auto* partial = static_cast<TexelSums*>(memory.data());
    const Index grain = 1 + a.tileRays / kChunk;
    withLanes(a.lanes, [&](auto lanes) {
        forEachRun(stream, chunks, AdjointChunk<lanes()>{a, partial}, grain);
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

#if defined(__CUDACC__)
/// Value i becomes 0 where its row of pixels is not of the subset.
struct MaskValue {
    SeedMaskArguments a;

    VERGENCE_HD void operator()(Index i) const
    {
        if (i / a.rowValues % a.subsetCount != a.subsetIndex)
            a.residual[i] = 0;
    }
};
#endif

void mask(Stream& stream, const SeedMaskArguments& a)
{
#if defined(__CUDACC__)
    forEach(stream, a.rows * a.rowValues, MaskValue{a});
#else
    for (Index row = 0; row < a.rows; ++row) {
        if (row % a.subsetCount != a.subsetIndex)
            stream.fillBytes(a.residual + row * a.rowValues, 0,
                             static_cast<std::size_t>(a.rowValues) * sizeof(float));
    }
#endif
}

} // namespace

VERGENCE_REGISTER_KERNEL(seedTrace, trace)
VERGENCE_REGISTER_KERNEL(seedForward, forward)
VERGENCE_REGISTER_KERNEL(seedAdjoint, adjoint)
VERGENCE_REGISTER_KERNEL(seedMask, mask)
VERGENCE_REGISTER_KERNEL(seedScatter, scatter)

} // namespace vergence::light_field
