#pragma once

// For the CPU builds of seed_kernels.cpp: sixteen rows or rays at once.

#include "plugins/light_field/compute/seed_kernels.h"
#include "plugins/light_field/compute/update_run.h"

namespace vergence::light_field::simd {

static_assert(kPackRows == kPack);

/// Sums of a pack of rows, in the order of their entries as for single rows.
VERGENCE_HD void sumPack(const SparseView& matrix, Index pack, const float* x, Native* sums)
{
    for (int part = 0; part < kParts; ++part) {
        Native sum{};
        for (int slot = matrix.packStart[pack]; slot < matrix.packStart[pack + 1]; ++slot) {
            const Index at = static_cast<Index>(slot) * kPack + part * kNative;
            const Native value = gather(x, load(matrix.packIndex + at));
            sum += matrix.packWeight ? value * load(matrix.packWeight + at) : value;
        }
        sums[part] = sum;
    }
}

/// Sums of the whole packs among rows begin … end − 1 into `sums` [end − begin]; returns the first
/// row that is left.
VERGENCE_HD Index sumPacks(const SparseView& matrix, Index begin, Index end, const float* x,
                           float* sums)
{
    Index row = begin;
    for (; row + kPack <= end; row += kPack) {
        Native pack[kParts];
        sumPack(matrix, row / kPack, x, pack);
        for (int part = 0; part < kParts; ++part)
            store(sums + (row - begin) + part * kNative, pack[part]);
    }
    return row;
}

typedef double NativeDouble __attribute__((vector_size(kNative * sizeof(double))));

VERGENCE_HD double sumOf(const NativeDouble& value)
{
    double sum = 0;
    for (int i = 0; i < kNative; ++i)
        sum += value[i];
    return sum;
}

/// Images and residuals of the whole packs among pixels begin … end − 1; returns the first pixel
/// that is left.
VERGENCE_HD Index forwardPacks(const SeedForwardArguments& a, Index begin, Index end,
                               double& squared, double& weighted)
{
    NativeDouble squares[kParts] = {}, weightedSquares[kParts] = {};
    Index pixel = begin;
    for (; pixel + kPack <= end; pixel += kPack) {
        Native sums[kParts];
        sumPack(a.matrix, pixel / kPack, a.x, sums);
        for (int part = 0; part < kParts; ++part) {
            const Index at = pixel + part * kNative;
            store(a.images + at, sums[part]);
            if (!a.target)
                continue;
            const Native difference = sums[part] - load(a.target + at);
            const Native omega = a.weights ? load(a.weights + at) : spread(1.0f);
            store(a.residual + at, omega * difference);
            const NativeDouble wide = __builtin_convertvector(difference, NativeDouble);
            squares[part] += wide * wide;
            weightedSquares[part] += __builtin_convertvector(omega, NativeDouble) * (wide * wide);
        }
    }
    for (int part = 0; part < kParts; ++part) {
        squared += sumOf(squares[part]);
        weighted += sumOf(weightedSquares[part]);
    }
    return pixel;
}

/// Traces one sample of one row of pixels through all planes.
struct TraceRow {
    SeedTraceArguments a;

    VERGENCE_HD void operator()(Index item) const
    {
        const int w = a.optics.resolution, row = static_cast<int>(item % w);
        const Index sampleIndex = item / w;
        const RaySample sample = a.samples[sampleIndex];
        const bool isLost = sample.pupilX != sample.pupilX;
        Native offsets;
        for (int i = 0; i < kNative; ++i)
            offsets[i] = static_cast<float>(i);
        for (int column = 0; column < w; column += kNative) {
            const int count = w - column < kNative ? w - column : kNative;
            const SeedRay<Native> ray = seedEyeRay(
                a.optics, row, offsets + static_cast<float>(column),
                static_cast<float>(sample.pupilX), static_cast<float>(sample.pupilY), NativeMath{});
            for (int k = 0; k < a.planes; ++k) {
                int* out = a.texels +
                           ((sampleIndex * a.planes + k) * w + row) * static_cast<Index>(w) +
                           column;
                const Native texel =
                    isLost ? spread(-1.0f) : seedTexel(a.optics, ray, a.focals[k], NativeMath{});
                const NativeInt number = __builtin_convertvector(texel, NativeInt);
                std::memcpy(out, &number, sizeof(int) * static_cast<std::size_t>(count));
            }
        }
    }
};

} // namespace vergence::light_field::simd
