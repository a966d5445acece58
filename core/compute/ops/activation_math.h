#pragma once

#include "core/compute/dense.h"
#include "core/compute/ops/fast_math.h"

namespace vergence {

/// Activations and their derivatives. Real is float, double or a vector of either (fast_math.h).
/// Sources: Gaussian Error Linear Units (2016), section 2; Sigmoid-Weighted Linear Units (2017).
template <class Real>
VERGENCE_HD Real sigmoid(Real x)
{
    using S = ScalarOf<Real>;
    return S(1) / (S(1) + exponential(-x));
}

/// x Φ(x) = max(x, 0) − t Φ(−t), t = |x|.
template <class Real>
VERGENCE_HD Real geluErf(Real x)
{
    const Real t = atMost(absolute(x), kTailEnd<Real>);
    return multiplyAdd(-t, normalTail(t), atLeast(x, ScalarOf<Real>(0)));
}
template <class Real>
VERGENCE_HD Real geluErfDerivative(Real x)
{
    const NormalDistribution<Real> normal = normalDistribution(x);
    return normal.below + x * normal.density;
}

template <class Real>
VERGENCE_HD Real geluTanh(Real x)
{
    using S = ScalarOf<Real>;
    const Real u = S(0.79788456080286535588) * (x + S(0.044715) * x * x * x);
    return S(0.5) * x * (S(1) + hyperbolicTangent(u));
}
template <class Real>
VERGENCE_HD Real geluTanhDerivative(Real x)
{
    using S = ScalarOf<Real>;
    const Real t = hyperbolicTangent(S(0.79788456080286535588) * (x + S(0.044715) * x * x * x));
    return S(0.5) * (S(1) + t) +
           S(0.5) * x * (S(1) - t * t) * S(0.79788456080286535588) * (S(1) + S(0.134145) * x * x);
}

/// x · σ(slope · x): SiLU for slope 1, quick-GELU for slope 1.702.
template <class Real>
VERGENCE_HD Real swish(Real x, ScalarOf<Real> slope)
{
    return x * sigmoid(slope * x);
}
template <class Real>
VERGENCE_HD Real swishDerivative(Real x, ScalarOf<Real> slope)
{
    using S = ScalarOf<Real>;
    const Real s = sigmoid(slope * x);
    return s + slope * x * s * (S(1) - s);
}

template <Activation kind, class Real>
VERGENCE_HD Real activationValue(Real x)
{
    using S = ScalarOf<Real>;
    if constexpr (kind == Activation::GeluErf)
        return geluErf(x);
    else if constexpr (kind == Activation::GeluTanh)
        return geluTanh(x);
    else if constexpr (kind == Activation::QuickGelu)
        return swish(x, S(1.702));
    else if constexpr (kind == Activation::Silu)
        return swish(x, S(1));
    else if constexpr (kind == Activation::Relu)
        return select(x > S(0), x, spread<Real>(S(0)));
    else
        return x;
}

template <Activation kind, class Real>
VERGENCE_HD Real activationDerivative(Real x)
{
    using S = ScalarOf<Real>;
    if constexpr (kind == Activation::GeluErf)
        return geluErfDerivative(x);
    else if constexpr (kind == Activation::GeluTanh)
        return geluTanhDerivative(x);
    else if constexpr (kind == Activation::QuickGelu)
        return swishDerivative(x, S(1.702));
    else if constexpr (kind == Activation::Silu)
        return swishDerivative(x, S(1));
    else if constexpr (kind == Activation::Relu)
        return select(x > S(0), spread<Real>(S(1)), spread<Real>(S(0)));
    else
        return spread<Real>(S(1));
}

} // namespace vergence
