#pragma once

#include <cmath>

#include "core/compute/host_device.h"
#include "plugins/sugar/compute/projection_math.h"

namespace vergence::sugar {

// Density of a set of Gaussians near its surface, compared with the density that flat, opaque ones
// would have. Source: SuGaR (2024), section 4.1, equations 2 to 6.

/// How far samples spread, in standard deviations of their parent.
inline constexpr double kSampleSpread = 1.5;
inline constexpr int kMostFieldNeighbours = 32;

/// A Gaussian as the field sees it: opacity o and standard deviations s, of the filtered shape
/// where there is a filter.
template <class Real>
struct FieldGaussian {
    Real position[3], scale[3], rotation[9], opacity;
    Real unit[4], inverseNorm; ///< quaternion of norm 1, and 1/|q|
    Real filteredPart[3];      ///< 1 − s_raw²/s²: what a larger scale gives to the opacity
    Real opacityRoom;          ///< 1 − o of the unfiltered opacity
    int shortest;              ///< the axis of the normal, the first among equals

    /// Numbers as they are stored; `filter` is the σ of the smoothing filter, 0 without.
    VERGENCE_HD FieldGaussian(const Real* at, const Real* logScale, const Real* quaternion,
                              Real logit, Real filter)
    {
        Real squares = 0;
        for (int i = 0; i < 4; ++i)
            squares += quaternion[i] * quaternion[i];
        inverseNorm = Real(1) / std::sqrt(squares);
        for (int i = 0; i < 4; ++i)
            unit[i] = quaternion[i] * inverseNorm;
        rotationOf(unit, rotation);
        opacity = Real(1) / (Real(1) + std::exp(-logit));
        opacityRoom = Real(1) - opacity;
        for (int i = 0; i < 3; ++i) {
            const Real raw = std::exp(logScale[i]);
            position[i] = at[i];
            scale[i] = std::sqrt(raw * raw + filter * filter);
            filteredPart[i] = Real(1) - raw * raw / (scale[i] * scale[i]);
            opacity *= raw / scale[i];
        }
        shortest = scale[0] <= scale[1] && scale[0] <= scale[2] ? 0 : scale[1] <= scale[2] ? 1 : 2;
    }
    VERGENCE_HD Real smallest() const { return scale[shortest]; }
};

/// ∂L/∂ of a FieldGaussian: of position, ln s, rotation matrix and o.
template <class Real>
struct FieldGradient {
    Real position[3] = {}, logScale[3] = {}, rotation[9] = {}, opacity = 0;
};

/// ∂L/∂ of the stored numbers.
template <class Real>
struct FieldParameterGradient {
    Real position[3], logScale[3], quaternion[4], logit;

    VERGENCE_HD FieldParameterGradient(const FieldGaussian<Real>& g, const FieldGradient<Real>& of)
    {
        const Real gradLogOpacity = of.opacity * g.opacity;
        for (int i = 0; i < 3; ++i) {
            position[i] = of.position[i];
            logScale[i] =
                of.logScale[i] * (Real(1) - g.filteredPart[i]) + gradLogOpacity * g.filteredPart[i];
        }
        rotationBackward(g.unit, g.inverseNorm, of.rotation, quaternion);
        logit = gradLogOpacity * g.opacityRoom;
    }
};

/// x = p + R (1.5 s ∘ ξ).
template <class Real>
VERGENCE_HD void fieldSample(const FieldGaussian<Real>& parent, const Real* normal, Real* x)
{
    for (int row = 0; row < 3; ++row) {
        x[row] = parent.position[row];
        for (int axis = 0; axis < 3; ++axis)
            x[row] += parent.rotation[3 * row + axis] * Real(kSampleSpread) * parent.scale[axis] *
                      normal[axis];
    }
}

template <class Real>
VERGENCE_HD void fieldSampleBackward(const FieldGaussian<Real>& parent, const Real* normal,
                                     const Real* gradX, FieldGradient<Real>& gradient)
{
    for (int axis = 0; axis < 3; ++axis) {
        const Real length = Real(kSampleSpread) * parent.scale[axis] * normal[axis];
        Real along = 0;
        for (int row = 0; row < 3; ++row) {
            gradient.rotation[3 * row + axis] += gradX[row] * length;
            along += gradX[row] * parent.rotation[3 * row + axis];
        }
        gradient.logScale[axis] += along * length;
        gradient.position[axis] += gradX[axis];
    }
}

/// What one Gaussian adds to the density at x: e = o exp(−|y|²/2), y = S⁻¹ Rᵀ (x − p).
template <class Real>
struct FieldWeight {
    Real y[3], falloff, value;

    VERGENCE_HD FieldWeight(const FieldGaussian<Real>& g, const Real* x)
    {
        Real squares = 0;
        for (int axis = 0; axis < 3; ++axis) {
            y[axis] = 0;
            for (int row = 0; row < 3; ++row)
                y[axis] += g.rotation[3 * row + axis] * (x[row] - g.position[row]);
            y[axis] /= g.scale[axis];
            squares += y[axis] * y[axis];
        }
        falloff = squares < Real(1e8) ? std::exp(Real(-0.5) * squares) : Real(0);
        value = g.opacity * falloff;
    }

    /// Adds to the gradients of the Gaussian and of x, given ∂L/∂e.
    VERGENCE_HD void backward(const FieldGaussian<Real>& g, const Real* x, Real gradValue,
                              FieldGradient<Real>& gradient, Real* gradX) const
    {
        const Real scaled = gradValue * value;
        gradient.opacity += gradValue * falloff;
        for (int axis = 0; axis < 3; ++axis) {
            const Real along = scaled * y[axis] / g.scale[axis];
            gradient.logScale[axis] += scaled * y[axis] * y[axis];
            for (int row = 0; row < 3; ++row) {
                const Real toPosition = along * g.rotation[3 * row + axis];
                gradient.position[row] += toPosition;
                gradX[row] -= toPosition;
                gradient.rotation[3 * row + axis] -= along * (x[row] - g.position[row]);
            }
        }
    }
};

/// |d − d̄| of one sample: density d = Σ e of the `count` neighbours of its parent against
/// d̄ = exp(−h²/(2 β²)), h = 1.5 s_min ξ_min the height above the parent's plane and β the mean of
/// the neighbours' smallest scales. All dependencies are differentiated; `gradients` of neighbours
/// and of the parent are added to, times `factor`. `parent` may be one of the neighbours.
template <class Real>
VERGENCE_HD Real densityTerm(const FieldGaussian<Real>& parent, const Real* normal,
                             const FieldGaussian<Real>* neighbours, int count, Real factor,
                             FieldGradient<Real>& parentGradient, FieldGradient<Real>* gradients)
{
    Real x[3], gradX[3] = {}, density = 0, beta = 0;
    fieldSample(parent, normal, x);
    for (int i = 0; i < count; ++i) {
        density += FieldWeight<Real>(neighbours[i], x).value;
        beta += neighbours[i].smallest() / static_cast<Real>(count);
    }
    const Real height = Real(kSampleSpread) * parent.smallest() * normal[parent.shortest];
    const Real ratio = height / beta, target = std::exp(Real(-0.5) * ratio * ratio);
    const Real difference = density - target;
    const Real grad = factor * (static_cast<Real>(difference > Real(0)) -
                                static_cast<Real>(difference < Real(0)));
    for (int i = 0; i < count; ++i) {
        FieldWeight<Real>(neighbours[i], x).backward(neighbours[i], x, grad, gradients[i], gradX);
        gradients[i].logScale[neighbours[i].shortest] -= grad * target * ratio * ratio / beta *
                                                         neighbours[i].smallest() /
                                                         static_cast<Real>(count);
    }
    fieldSampleBackward(parent, normal, gradX, parentGradient);
    parentGradient.logScale[parent.shortest] += grad * target * ratio * ratio;
    return std::abs(difference);
}

/// e |⟨x − p, n⟩|/s_min²: how much a neighbour's normal says about a sample.
template <class Real>
VERGENCE_HD Real normalWeight(const FieldGaussian<Real>& g, const Real* x)
{
    Real height = 0;
    for (int row = 0; row < 3; ++row)
        height += (x[row] - g.position[row]) * g.rotation[3 * row + g.shortest];
    const Real s = g.smallest() > Real(1e-6) ? g.smallest() : Real(1e-6);
    return FieldWeight<Real>(g, x).value * std::abs(height) / (s * s);
}

/// |r|² of one sample, r = n − Σ w_i n_i: the parent's normal against those of its neighbours,
/// turned to its side. The weights w_i, of normalWeight() and sum 1, are held fixed. At most
/// kMostFieldNeighbours. Adds to the gradients of the rotations, times `factor`.
template <class Real>
VERGENCE_HD Real normalTerm(const FieldGaussian<Real>& parent, const Real* x,
                            const FieldGaussian<Real>* neighbours, int count, Real factor,
                            FieldGradient<Real>& parentGradient, FieldGradient<Real>* gradients)
{
    Real share[kMostFieldNeighbours], mean[3] = {}, r[3], sum = 0;
    for (int i = 0; i < count; ++i) {
        share[i] = normalWeight(neighbours[i], x);
        sum += share[i];
    }
    for (int i = 0; i < count; ++i) {
        const FieldGaussian<Real>& g = neighbours[i];
        Real cosine = 0;
        for (int row = 0; row < 3; ++row)
            cosine += g.rotation[3 * row + g.shortest] * parent.rotation[3 * row + parent.shortest];
        share[i] /= sum > Real(1e-6) ? sum : Real(1e-6);
        share[i] = cosine < Real(0) ? -share[i] : share[i];
        for (int row = 0; row < 3; ++row)
            mean[row] += share[i] * g.rotation[3 * row + g.shortest];
    }
    for (int row = 0; row < 3; ++row) {
        r[row] = parent.rotation[3 * row + parent.shortest] - mean[row];
        parentGradient.rotation[3 * row + parent.shortest] += Real(2) * factor * r[row];
    }
    for (int i = 0; i < count; ++i) {
        for (int row = 0; row < 3; ++row)
            gradients[i].rotation[3 * row + neighbours[i].shortest] -=
                Real(2) * factor * share[i] * r[row];
    }
    return r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
}

} // namespace vergence::sugar
