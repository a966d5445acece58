#pragma once

#include <cmath>

#include "core/compute/dense.h"
#include "core/compute/host_device.h"

namespace vergence {

/// Activations and their derivatives for one number. Real is float or double.
/// Sources: Gaussian Error Linear Units (2016), section 2; Sigmoid-Weighted Linear Units (2017).
template <class Real>
VERGENCE_HD Real sigmoid(Real x)
{
    return Real(1) / (Real(1) + std::exp(-x));
}

template <class Real>
VERGENCE_HD Real geluErf(Real x)
{
    return Real(0.5) * x * (Real(1) + std::erf(x * Real(0.70710678118654752440)));
}
template <class Real>
VERGENCE_HD Real geluErfDerivative(Real x)
{
    const Real cdf = Real(0.5) * (Real(1) + std::erf(x * Real(0.70710678118654752440)));
    return cdf + x * Real(0.39894228040143267794) * std::exp(Real(-0.5) * x * x);
}

template <class Real>
VERGENCE_HD Real geluTanh(Real x)
{
    const Real u = Real(0.79788456080286535588) * (x + Real(0.044715) * x * x * x);
    return Real(0.5) * x * (Real(1) + std::tanh(u));
}
template <class Real>
VERGENCE_HD Real geluTanhDerivative(Real x)
{
    const Real t = std::tanh(Real(0.79788456080286535588) * (x + Real(0.044715) * x * x * x));
    return Real(0.5) * (Real(1) + t) + Real(0.5) * x * (Real(1) - t * t) *
                                           Real(0.79788456080286535588) *
                                           (Real(1) + Real(0.134145) * x * x);
}

/// x · σ(slope · x): SiLU for slope 1, quick-GELU for slope 1.702.
template <class Real>
VERGENCE_HD Real swish(Real x, Real slope)
{
    return x * sigmoid(slope * x);
}
template <class Real>
VERGENCE_HD Real swishDerivative(Real x, Real slope)
{
    const Real s = sigmoid(slope * x);
    return s + slope * x * s * (Real(1) - s);
}

template <Activation kind, class Real>
VERGENCE_HD Real activationValue(Real x)
{
    if constexpr (kind == Activation::GeluErf)
        return geluErf(x);
    else if constexpr (kind == Activation::GeluTanh)
        return geluTanh(x);
    else if constexpr (kind == Activation::QuickGelu)
        return swish(x, Real(1.702));
    else if constexpr (kind == Activation::Silu)
        return swish(x, Real(1));
    else if constexpr (kind == Activation::Relu)
        return x > Real(0) ? x : Real(0);
    else
        return x;
}

template <Activation kind, class Real>
VERGENCE_HD Real activationDerivative(Real x)
{
    if constexpr (kind == Activation::GeluErf)
        return geluErfDerivative(x);
    else if constexpr (kind == Activation::GeluTanh)
        return geluTanhDerivative(x);
    else if constexpr (kind == Activation::QuickGelu)
        return swishDerivative(x, Real(1.702));
    else if constexpr (kind == Activation::Silu)
        return swishDerivative(x, Real(1));
    else if constexpr (kind == Activation::Relu)
        return x > Real(0) ? Real(1) : Real(0);
    else
        return Real(1);
}

} // namespace vergence
