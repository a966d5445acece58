#pragma once

#include <cmath>

#include "core/compute/host_device.h"
#include "plugins/sugar/compute/moment_codec.h"
#include "plugins/sugar/compute/projection_math.h"
#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

/// Parameter groups in the order of GaussianArrays.
enum AdamGroup : int { kPosition, kLogScale, kRotation, kOpacity, kShDc, kShRest, kAdamGroups };

/// Opacity logits stay within ± this.
inline constexpr float kLogitLimit = 12;
/// Logarithms of scales stay at or above this.
inline constexpr float kLogScaleFloor = -20;

/// What a step of Adam needs beside the arrays.
template <class Real>
struct AdamFactors {
    Real beta1, beta2, epsilon;
    Real secondScale;           ///< 1 / √(1 − beta2^t)
    Real stepSize[kAdamGroups]; ///< η / (1 − beta1^t) of each group
    Real largestLogScale;       ///< logarithms of scales stay at or below this
    std::uint32_t step;         ///< its lowest bits: compact moments are rounded by them
};

/// Host only.
template <class Real>
AdamFactors<Real> adamFactors(const AdamStep& step)
{
    const auto t = static_cast<double>(step.step);
    const double first = 1 - std::pow(static_cast<double>(step.beta1), t);
    const double second = 1 - std::pow(static_cast<double>(step.beta2), t);
    AdamFactors<Real> factors;
    factors.beta1 = static_cast<Real>(step.beta1);
    factors.beta2 = static_cast<Real>(step.beta2);
    factors.epsilon = static_cast<Real>(step.epsilon);
    factors.secondScale = static_cast<Real>(1 / std::sqrt(second));
    for (int group = 0; group < kAdamGroups; ++group) {
        const auto rate = static_cast<double>(step.learningRate[static_cast<std::size_t>(group)]);
        factors.stepSize[group] = static_cast<Real>(rate / first);
    }
    factors.largestLogScale = static_cast<Real>(step.largestLogScale);
    factors.step = static_cast<std::uint32_t>(step.step);
    return factors;
}

/// The same with the extent of the scene, world units: scales also stay at or below ten times of
/// it.
template <class Real>
AdamFactors<Real> adamFactors(const AdamStep& step, double extent)
{
    AdamFactors<Real> factors = adamFactors<Real>(step);
    const auto largest = static_cast<Real>(std::log(10 * extent));
    if (largest < factors.largestLogScale)
        factors.largestLogScale = largest;
    return factors;
}

/// m ← β1 m + (1 − β1) g, v ← β2 v + (1 − β2) g², p ← p − η m̂ / (√v̂ + ε). R is a number or a
/// vector of numbers. Source: Adam (2015), algorithm 1.
template <class Real, class R>
VERGENCE_HD void adamElement(const AdamFactors<Real>& factors, Real stepSize, R gradient,
                             R& moment1, R& moment2, R& value)
{
    const R m = factors.beta1 * moment1 + (Real(1) - factors.beta1) * gradient;
    const R v = factors.beta2 * moment2 + (Real(1) - factors.beta2) * gradient * gradient;
    moment1 = m;
    moment2 = v;
    value = value - stepSize * m / (squareRoot(v) * factors.secondScale + factors.epsilon);
}

/// Where a parameter of a group may lie after a step; others are free.
template <class Real>
struct AdamRange {
    Real low, high;
};

template <class Real>
VERGENCE_HD AdamRange<Real> adamRange(const AdamFactors<Real>& factors, int group)
{
    if (group == kLogScale)
        return {Real(kLogScaleFloor), factors.largestLogScale};
    if (group == kOpacity)
        return {Real(-kLogitLimit), Real(kLogitLimit)};
    return {Real(-HUGE_VALF), Real(HUGE_VALF)};
}

template <class Real>
VERGENCE_HD Real clampedTo(const AdamRange<Real>& range, Real value)
{
    const Real raised = value < range.low ? range.low : value;
    return raised > range.high ? range.high : raised;
}

/// How moments of a group are rounded in a step; `place` as in Rounding.
template <class Real>
VERGENCE_HD Rounding roundingOf(const AdamFactors<Real>& factors, int group, Index place)
{
    return {(factors.step * kAdamGroups + static_cast<std::uint32_t>(group)) * 0x9e3779b9U, place};
}

/// Calls run(first, second) with the moments of a group in their types.
template <class Run>
VERGENCE_HD void withMoments(bool areCompact, int group, void* first, void* second, const Run& run)
{
    if (!areCompact)
        run(static_cast<float*>(first), static_cast<float*>(second));
    else if (group == kShRest)
        run(static_cast<BFloat16*>(first), static_cast<std::uint8_t*>(second));
    else
        run(static_cast<BFloat16*>(first), static_cast<BFloat16*>(second));
}

/// One group of one Gaussian (or of neighbours): `width` numbers each, the first of which lies at
/// `place` of the group's arrays. A fused update of a whole Gaussian calls this for its groups,
/// where the sum of notFinite() of all of them is 0.
template <class Real, class First, class Second>
VERGENCE_HD void adamGroup(const AdamFactors<Real>& factors, int group, int width,
                           const Real* gradient, First* moment1, Second* moment2, Real* value,
                           Index place = 0)
{
    const AdamRange<Real> range = adamRange(factors, group);
    const Real stepSize = factors.stepSize[group];
    for (int i = 0; i < width; ++i) {
        Real m = loadMoment1<Real>(moment1 + i), v = loadMoment2<Real>(moment2 + i),
             next = value[i];
        adamElement(factors, stepSize, gradient[i], m, v, next);
        storeMoment1(moment1 + i, m);
        storeMoment2(moment2 + i, v, roundingOf(factors, group, place + i));
        value[i] = clampedTo(range, next);
    }
}

/// 0 where all `width` numbers are finite, otherwise NaN; to be summed over the groups.
template <class Real>
VERGENCE_HD Real notFinite(int width, const Real* gradient)
{
    Real sum = 0;
    for (int i = 0; i < width; ++i)
        sum += gradient[i] * Real(0);
    return sum;
}

} // namespace vergence::sugar
