#pragma once

#include <cmath>

#include "core/compute/host_device.h"

namespace vergence::live {

/// How much of a pixel is new: w′ = 1 − β (1 − max(σ(logit), 1/4)), and its derivative with respect
/// to the logit, 0 where the maximum holds it.
template <class Real>
struct BlendShare {
    Real ofNew, gradLogit;

    VERGENCE_HD BlendShare(Real logit, Real beta)
    {
        const Real least = Real(0.25);
        const Real sigmoid = Real(1) / (Real(1) + std::exp(-logit));
        const Real w = sigmoid > least ? sigmoid : least;
        ofNew = Real(1) - beta * (Real(1) - w);
        gradLogit = sigmoid > least ? beta * sigmoid * (Real(1) - sigmoid) : Real(0);
    }
    /// Exact where both are equal and where all is new.
    VERGENCE_HD Real blend(Real x0, Real previous) const
    {
        return x0 + (Real(1) - ofNew) * (previous - x0);
    }
};

} // namespace vergence::live
