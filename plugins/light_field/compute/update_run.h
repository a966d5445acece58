#pragma once

// For the CPU builds of kernel files: the update of a row of texels with vectors.

#include "plugins/light_field/compute/simd.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field::simd {

/// What a vectorised update adds up; folded into TexelSums at the end of a row.
struct RowSums {
    Native restart[kParts] = {};
    Native gradientSquared = {}, atZero = {}, atOne = {};
};

/// Values `i` … `i + kNative` − 1 of the arrays; `d` and `mu` are already spread over the lanes.
VERGENCE_HD void updateNative(const TexelUpdate& u, Index i, Native g, const Native& d,
                              const Native& mu, Native& restart, RowSums& sums)
{
    if (u.smoothness)
        g += load(static_cast<const float*>(u.smoothness) + i);
    float* px = static_cast<float*>(u.x) + i;
    Native x = load(px);
    if (u.kind == UpdateKind::Projected) {
        float* pz = static_cast<float*>(u.z) + i;
        Native z = load(pz);
        restart += projectedStep(x, z, g, d, mu);
        store(pz, z);
    } else {
        float* pm = static_cast<float*>(u.first) + i;
        float* pv = static_cast<float*>(u.second) + i;
        Native m = load(pm), v = load(pv);
        adamStep(x, m, v, g * u.gradientScale, d, u, NativeRoot{});
        store(pm, m);
        store(pv, v);
    }
    store(px, x);
    const Native zero{}, one = spread(1.0f);
    const Native seen = d > zero ? one : zero;
    sums.gradientSquared += g * g * seen;
    sums.atZero += x <= zero ? seen : zero;
    sums.atOne += x >= one ? seen : zero;
}

/// Applies the update to `count` texels from `texel` on; g is [count, L].
template <int L>
VERGENCE_HD void updateRun(const TexelUpdate& u, Index texel, int count, const float* g,
                           TexelSums& total)
{
    if (u.kind == UpdateKind::Store) {
        std::memcpy(static_cast<float*>(u.gradient) + texel * L, g,
                    sizeof(float) * static_cast<std::size_t>(count * L));
        return;
    }
    const float* diagonal = static_cast<const float*>(u.diagonal) + texel;
    constexpr int kTexels = kPack / L;
    RowSums sums;
    alignas(64) float spreadMu[kPack], spreadD[kPack];
    for (int l = 0; l < kPack; ++l)
        spreadMu[l] = u.momentum[l % L];
    int n = 0;
    for (; n + kTexels <= count; n += kTexels) {
        for (int l = 0; l < kPack; ++l)
            spreadD[l] = diagonal[n + l / L];
        for (int part = 0; part < kParts; ++part) {
            updateNative(u, (texel + n) * L + part * kNative, load(g + n * L + part * kNative),
                         load(spreadD + part * kNative), load(spreadMu + part * kNative),
                         sums.restart[part], sums);
        }
    }
    for (; n < count; ++n) {
        for (int lane = 0; lane < L; ++lane)
            updateValue<float>(u, texel + n, L, lane, g[n * L + lane], total);
    }
    for (int part = 0; part < kParts; ++part) {
        for (int l = 0; l < kNative; ++l)
            total.restart[(part * kNative + l) % L] += static_cast<double>(sums.restart[part][l]);
    }
    total.gradientSquared += static_cast<double>(sumOf(sums.gradientSquared));
    total.atZero += static_cast<double>(sumOf(sums.atZero));
    total.atOne += static_cast<double>(sumOf(sums.atOne));
}

} // namespace vergence::light_field::simd
