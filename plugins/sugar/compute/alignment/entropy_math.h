#pragma once

#include <cmath>

#include "core/compute/host_device.h"

namespace vergence::sugar {

/// Entropy of an opacity and its derivative by the logit.
template <class Real>
struct OpacityEntropy {
    Real value, byLogit;
};

/// ln(1 + e^x) without overflow.
template <class Real>
VERGENCE_HD Real softplus(Real x)
{
    return (x > Real(0) ? x : Real(0)) + std::log1p(std::exp(-std::abs(x)));
}

/// −o ln o − (1 − o) ln(1 − o) in terms of the logit x, finite for every x: since
/// ln(o/(1 − o)) = x, the derivative by x is −o (1 − o) x. It pushes opacities away from ½.
/// Source: SuGaR (2024), section 4.1.
template <class Real>
VERGENCE_HD OpacityEntropy<Real> opacityEntropy(Real logit)
{
    const Real o = Real(1) / (Real(1) + std::exp(-logit));
    const Real rest = Real(1) / (Real(1) + std::exp(logit));
    return {o * softplus(-logit) + rest * softplus(logit), -o * rest * logit};
}

} // namespace vergence::sugar
