#pragma once

// What both CPU drivers of the separable operator share. Sixteen values travel
// together: 16 / L image rows of L lanes. For one sample of one plane the texel rows that 16 / L
// image rows look at are blended once and turned so that those sixteen values lie side by side;
// then a pixel column is two loads, a blend, a mask and an addition, and nothing is gathered.

#include <algorithm>

#include "core/compute/launch.h"
#include "plugins/light_field/compute/slot_pool.h"
#include "plugins/light_field/compute/table_math.h"
#include "plugins/light_field/compute/update_run.h"

namespace vergence::light_field {

namespace {

using simd::kNative;
using simd::kPack;
using simd::kParts;
using simd::Native;

/// The image rows of a bundle: 16 / L rows of one state, every `rows.count`-th one.
template <int L>
struct Bundle {
    static constexpr int kRows = kPack / L;
    int row[kRows];
    bool isMember[kRows];

    VERGENCE_HD Bundle(const RowSubset& rows, int state, Index bundle, int resolution)
    {
        const int offset = ((rows.index - state) % rows.count + rows.count) % rows.count;
        for (int i = 0; i < kRows; ++i) {
            const int wanted = offset + rows.count * (static_cast<int>(bundle) * kRows + i);
            isMember[i] = wanted < resolution;
            row[i] = isMember[i] ? wanted : 0;
        }
    }
};

/// The row tables of a bundle for one sample, spread over the sixteen values.
template <int L>
struct BundleRows {
    static constexpr int kRows = kPack / L;
    int first[kRows];
    float beta[kRows];
    alignas(64) float lenslet2[kPack];
    alignas(64) float aperture2[kPack];
    bool isEmpty = true;

    VERGENCE_HD BundleRows(const TableView<float>& t, Index base, const Bundle<L>& bundle)
    {
        for (int i = 0; i < kRows; ++i) {
            const Index at = base + bundle.row[i];
            const float distance2 = bundle.isMember[i] ? t.y.lenslet2[at] : HUGE_VALF;
            first[i] = t.y.first[at];
            beta[i] = t.y.alpha[at];
            isEmpty = isEmpty && !(distance2 <= t.lensletLimit2);
            for (int lane = 0; lane < L; ++lane) {
                lenslet2[i * L + lane] = distance2;
                aperture2[i * L + lane] = t.y.aperture2[at];
            }
        }
    }
};

/// Whether a pixel column passes, for part of the sixteen values.
template <bool Aperture, int L>
VERGENCE_HD Native masked(const TableView<float>& t, const BundleRows<L>& rows, int part,
                          const Native& value, float lenslet2, float aperture2)
{
    const Native distance = simd::load(rows.lenslet2 + part * kNative) + lenslet2;
    Native kept = simd::keepWithin(value, distance, simd::spread(t.lensletLimit2));
    if constexpr (Aperture) {
        const Native atLens = simd::load(rows.aperture2 + part * kNative) + aperture2;
        kept = simd::keepWithin(kept, atLens, simd::spread(t.apertureLimit2));
    }
    return kept;
}

/// Blends the texel rows of a bundle for texels low … high and turns them: out is [high − low + …,
/// 16].
template <int L>
VERGENCE_HD void blendRows(const float* plane, int panel, const BundleRows<L>& rows, int low,
                           int high, float* out)
{
    constexpr int kSide = simd::kSide<L>;
    constexpr int kSlices = L > kNative ? L / kNative : 1;
    for (int start = low; start <= high; start += kSide) {
        const int q = std::min(start, panel - kSide);
        for (int group = 0; group < BundleRows<L>::kRows; group += kSide) {
            for (int slice = 0; slice < kSlices; ++slice) {
                Native turned[kSide];
                for (int i = 0; i < kSide; ++i) {
                    const float* upper =
                        plane + (static_cast<Index>(rows.first[group + i]) * panel + q) * L +
                        slice * kNative;
                    const float beta = rows.beta[group + i];
                    turned[i] = (1 - beta) * simd::load(upper) +
                                beta * simd::load(upper + static_cast<Index>(panel) * L);
                }
                simd::transpose<L>(turned);
                for (int i = 0; i < kSide; ++i)
                    simd::store(out + (q - low + i) * kPack + group * L + slice * kNative,
                                turned[i]);
            }
        }
    }
}

/// Tasks that one thread takes at once, so that it has about `tileRays` rays to follow.
inline Index taskGrain(int tileRays, Index raysPerTask)
{
    return std::max<Index>(1, tileRays / std::max<Index>(1, raysPerTask));
}

} // namespace

} // namespace vergence::light_field
