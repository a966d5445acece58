#pragma once

#include <cmath>

#include "core/compute/host_device.h"
#include "core/compute/view.h"

namespace vergence::light_field {

/// What happens to a texel once its gradient is known.
enum class UpdateKind : int {
    Store,     ///< gradient[i] = g
    Projected, ///< x⁺ = clamp(z − g/d, 0, 1), z = x⁺ + μ (x⁺ − x); texels with d = 0 stay
    Adam,      ///< Adam or AdamW step on x, clamped; texels with d = 0 stay
};

inline constexpr int kMaxLanes = 16;

/// Arguments of an update for all texels; arrays lie on the device of the operator and have its
/// element type.
struct TexelUpdate {
    UpdateKind kind = UpdateKind::Store;
    void* gradient = nullptr; ///< [N, L]; Store
    void* x = nullptr;        ///< [N, L]; Projected, Adam
    void* z =
        nullptr; ///< [N, L] extrapolated point; Projected. May equal x where all momenta are 0
    const void* diagonal = nullptr; ///< [N] d; Projected: the majoriser, Adam: column sums
    const void* smoothness =
        nullptr;            ///< [N, L] λ_s times the negative Laplacian, added to g; may be null
    void* first = nullptr;  ///< [N, L] first moment; Adam
    void* second = nullptr; ///< [N, L] second moment; Adam
    float momentum[kMaxLanes] = {}; ///< μ per lane; Projected
    float gradientScale = 1;        ///< Adam: factor from Aᵀe to the gradient of the loss
    float learningRate = 0, decay = 0, epsilon = 0;
    float correction1 = 1, correction2 = 1; ///< 1 − β₁ᵗ, 1 − β₂ᵗ
};

/// Sums that an update adds up over reachable texels. Trivial, so that CUDA may share it; start
/// from TexelSums{}.
struct TexelSums {
    double restart[kMaxLanes]; ///< ⟨z − x⁺, x⁺ − x⟩ per lane
    double gradientSquared;
    double atZero, atOne;

    VERGENCE_HD void add(const TexelSums& other)
    {
        for (int lane = 0; lane < kMaxLanes; ++lane)
            restart[lane] += other.restart[lane];
        gradientSquared += other.gradientSquared;
        atZero += other.atZero;
        atOne += other.atOne;
    }
};

/// The formulas hold for a number and for a vector of numbers (`V`).
template <class V>
VERGENCE_HD V clampUnit(V value)
{
    const V zero{}, one = zero + 1.0f;
    const V low = value < zero ? zero : value;
    return low > one ? one : low;
}

/// Majorised, projected step with momentum `mu`. Overwrites x and z; returns (z − x⁺)(x⁺ − x).
/// Source: A fast iterative shrinkage-thresholding algorithm for linear inverse problems (2009),
/// with gradient restart.
template <class V>
VERGENCE_HD V projectedStep(V& x, V& z, V gradient, V diagonal, V mu)
{
    const V zero{}, one = zero + 1.0f;
    const V safe = diagonal > zero ? diagonal : one;
    const V next = diagonal > zero ? clampUnit(z - gradient / safe) : x;
    const V restart = (z - next) * (next - x);
    z = next + mu * (next - x);
    x = next;
    return restart;
}

/// AdamW step with decoupled decay, then the bounds. `root` is the square root for V.
/// Source: Decoupled Weight Decay Regularization (2019), algorithm 2.
template <class V, class Root>
VERGENCE_HD void adamStep(V& x, V& first, V& second, V gradient, V diagonal, const TexelUpdate& u,
                          const Root& root)
{
    const V zero{};
    const V m = first * 0.9f + gradient * 0.1f;
    const V v = second * 0.999f + gradient * gradient * 0.001f;
    const V denominator = root(v / u.correction2) + u.epsilon;
    const V decayed = x * (1.0f - u.learningRate * u.decay);
    const V next = clampUnit(decayed - (m / u.correction1) * u.learningRate / denominator);
    x = diagonal > zero ? next : x;
    first = m;
    second = v;
}

struct ScalarRoot {
    template <class Real>
    VERGENCE_HD Real operator()(Real value) const
    {
        return std::sqrt(value);
    }
};

/// Applies the update to value `lane` of texel `texel`, one number at a time.
template <class Real>
VERGENCE_HD void updateValue(const TexelUpdate& u, Index texel, int lanes, int lane, Real g,
                             TexelSums& sums)
{
    const Index i = texel * lanes + lane;
    if (u.kind == UpdateKind::Store) {
        static_cast<Real*>(u.gradient)[i] = g;
        return;
    }
    const Real d = static_cast<const Real*>(u.diagonal)[texel];
    if (u.smoothness)
        g += static_cast<const Real*>(u.smoothness)[i];
    Real& x = static_cast<Real*>(u.x)[i];
    if (u.kind == UpdateKind::Projected) {
        Real z = static_cast<Real*>(u.z)[i], next = x;
        sums.restart[lane] += projectedStep(next, z, g, d, Real(u.momentum[lane]));
        x = next;
        static_cast<Real*>(u.z)[i] = z;
    } else {
        Real m = static_cast<Real*>(u.first)[i], v = static_cast<Real*>(u.second)[i], next = x;
        adamStep(next, m, v, g * Real(u.gradientScale), d, u, ScalarRoot{});
        x = next;
        static_cast<Real*>(u.first)[i] = m;
        static_cast<Real*>(u.second)[i] = v;
    }
    if (d > 0) {
        sums.gradientSquared += static_cast<double>(g) * static_cast<double>(g);
        sums.atZero += x <= 0 ? 1 : 0;
        sums.atOne += x >= 1 ? 1 : 0;
    }
}

} // namespace vergence::light_field
