#pragma once

#include <cmath>

#include "core/compute/host_device.h"

namespace vergence {

/// What one update of Adam needs beside the arrays, in the type of the moments.
template <class Real>
struct AdamStep {
    Real beta1, beta2, epsilon;
    Real clip;              ///< factor on the gradient
    Real decay;             ///< AdamW: p is multiplied by 1 − decay (= η · weight decay)
    Real coupledDecay;      ///< Adam: this · p is added to the gradient
    Real stepSize;          ///< η / (1 − beta1^t)
    Real inverseSecondRoot; ///< 1 / √(1 − beta2^t)
};

/// One parameter: moments and value in place. Sources: Adam (2015), algorithm 1; Decoupled Weight
/// Decay Regularization (2019), algorithm 2.
template <class Real>
VERGENCE_HD void adamElement(const AdamStep<Real>& step, Real gradient, Real& first, Real& second,
                             Real& value)
{
    const Real g = gradient * step.clip + step.coupledDecay * value;
    const Real m = step.beta1 * first + (Real(1) - step.beta1) * g;
    const Real v = step.beta2 * second + (Real(1) - step.beta2) * g * g;
    first = m;
    second = v;
    value = value - step.decay * value -
            step.stepSize * m / (std::sqrt(v) * step.inverseSecondRoot + step.epsilon);
}

/// The numbers an optimizer keeps on the device between steps.
struct AdamCounters {
    long long updates = 0, skipped = 0;
};
struct AdamNorm {
    double sumOfSquares = 0;
    double norm = 0;        ///< of all gradients, before clipping
    double factor = 0;      ///< of this step; 0 where the update is left out
    double firstScale = 0;  ///< 1 / (1 − beta1^t)
    double secondScale = 0; ///< 1 / √(1 − beta2^t)
};

/// Decides about the step from the sum of squares: counts it, or leaves it out where the sum is not
/// finite.
VERGENCE_HD void beginAdamStep(AdamNorm& norm, AdamCounters& counters, double beta1, double beta2,
                               double clipNorm)
{
    norm.norm = std::sqrt(norm.sumOfSquares);
    if (!(norm.sumOfSquares <= 1.7976931348623157e308)) {
        ++counters.skipped;
        norm.factor = 0;
        return;
    }
    ++counters.updates;
    const double t = static_cast<double>(counters.updates);
    norm.factor = 1;
    if (clipNorm > 0 && norm.norm + 1e-6 > clipNorm)
        norm.factor = clipNorm / (norm.norm + 1e-6);
    norm.firstScale = 1 / (1 - std::pow(beta1, t));
    norm.secondScale = 1 / std::sqrt(1 - std::pow(beta2, t));
}

} // namespace vergence
