#pragma once

#include "plugins/sugar/compute/projection_math.h"

namespace vergence::sugar {

// Density of a set of Gaussians near its surface. R is a number or a vector of numbers, one
// Gaussian per lane; S is a number. Source: SuGaR (2024), section 4.1, equations 2 to 6.

/// How far samples spread, in standard deviations of their parent.
inline constexpr double kSampleSpread = 1.5;
/// Most neighbours whose densities are summed.
inline constexpr int kMostFieldNeighbours = 32;

/// A Gaussian as the field sees it: opacity o and standard deviations s, of the filtered shape
/// where there is a filter.
template <class R>
struct FieldGaussian {
    using S = ScalarOf<R>;

    R position[3], scale[3], rotation[9], opacity;
    R unit[4], inverseNorm;   ///< quaternion of norm 1, and 1/|q|
    R filteredPart[3];        ///< 1 − s_raw²/s²: what a larger scale gives to the opacity
    R opacityRoom;            ///< 1 − o of the unfiltered opacity
    R pick[3];                ///< 1 for the axis of the normal: the shortest, the first of equals
    R present = spread<R>(1); ///< 0 for what only fills up a row; to be set with leaveOut()

    FieldGaussian() = default;
    /// Numbers as they are stored; `filter` is the σ of the smoothing filter, 0 without.
    VERGENCE_HD FieldGaussian(const R* at, const R* logScale, const R* quaternion, R logit,
                              R filter)
    {
        const R one = spread<R>(S(1));
        const R squares = quaternion[0] * quaternion[0] + quaternion[1] * quaternion[1] +
                          quaternion[2] * quaternion[2] + quaternion[3] * quaternion[3];
        inverseNorm = select(squares > R{}, S(1) / squareRoot(squares), R{});
        for (int i = 0; i < 4; ++i)
            unit[i] = quaternion[i] * inverseNorm;
        rotationOf(unit, rotation);
        opacity = S(1) / (S(1) + exponential(-logit));
        opacityRoom = S(1) - opacity;
        for (int i = 0; i < 3; ++i) {
            const R raw = exponential(logScale[i]), raw2 = raw * raw;
            const R filtered = squareRoot(raw2 + filter * filter);
            const auto isFiltered = filter > R{};
            position[i] = at[i];
            scale[i] = select(isFiltered, filtered, raw);
            filteredPart[i] = select(isFiltered, S(1) - raw2 / (filtered * filtered), R{});
            opacity *= select(isFiltered, raw / filtered, one);
        }
        pick[0] = select((scale[0] <= scale[1]) & (scale[0] <= scale[2]), one, R{});
        pick[1] = (one - pick[0]) * select(scale[1] <= scale[2], one, R{});
        pick[2] = one - pick[0] - pick[1];
    }
    VERGENCE_HD R smallest() const { return dot3(pick, scale); }
    /// Component `row` of the normal.
    VERGENCE_HD R normal(int row) const { return dot3(rotation + 3 * row, pick); }
    VERGENCE_HD void leaveOut(R isPresent)
    {
        present = isPresent;
        opacity *= isPresent;
    }
};

/// ∂L/∂ of a FieldGaussian: of position, ln s, rotation matrix and o.
template <class R>
struct FieldGradient {
    R position[3] = {}, logScale[3] = {}, rotation[9] = {}, opacity = {};
};

/// ∂L/∂ of the stored numbers.
template <class R>
struct FieldParameterGradient {
    R position[3], logScale[3], quaternion[4], logit;

    VERGENCE_HD FieldParameterGradient(const FieldGaussian<R>& g, const FieldGradient<R>& of)
    {
        using S = ScalarOf<R>;
        const R gradLogOpacity = of.opacity * g.opacity;
        for (int i = 0; i < 3; ++i) {
            position[i] = of.position[i];
            logScale[i] =
                of.logScale[i] * (S(1) - g.filteredPart[i]) + gradLogOpacity * g.filteredPart[i];
        }
        rotationBackward(g.unit, g.inverseNorm, of.rotation, quaternion);
        logit = gradLogOpacity * g.opacityRoom;
    }
};

/// x = p + R (1.5 s ∘ ξ).
template <class S>
VERGENCE_HD void fieldSample(const FieldGaussian<S>& parent, const S* normal, S* x)
{
    for (int row = 0; row < 3; ++row) {
        x[row] = parent.position[row];
        for (int axis = 0; axis < 3; ++axis)
            x[row] += parent.rotation[3 * row + axis] * S(kSampleSpread) * parent.scale[axis] *
                      normal[axis];
    }
}

/// Adds to the gradient of the parent.
template <class S>
VERGENCE_HD void fieldSampleBackward(const FieldGaussian<S>& parent, const S* normal,
                                     const S* gradX, FieldGradient<S>& gradient)
{
    for (int axis = 0; axis < 3; ++axis) {
        const S length = S(kSampleSpread) * parent.scale[axis] * normal[axis];
        S along = 0;
        for (int row = 0; row < 3; ++row) {
            gradient.rotation[3 * row + axis] += gradX[row] * length;
            along += gradX[row] * parent.rotation[3 * row + axis];
        }
        gradient.logScale[axis] += along * length;
        gradient.position[axis] += gradX[axis];
    }
}

/// What one Gaussian adds to the density at x: e = o exp(−|y|²/2), y = S⁻¹ Rᵀ (x − p).
template <class R>
struct FieldWeight {
    R y[3], falloff, value;

    VERGENCE_HD FieldWeight(const FieldGaussian<R>& g, const ScalarOf<R>* x)
    {
        using S = ScalarOf<R>;
        const R from[3] = {x[0] - g.position[0], x[1] - g.position[1], x[2] - g.position[2]};
        for (int axis = 0; axis < 3; ++axis)
            y[axis] = (g.rotation[axis] * from[0] + g.rotation[3 + axis] * from[1] +
                       g.rotation[6 + axis] * from[2]) /
                      g.scale[axis];
        const R squares = dot3(y, y);
        falloff =
            select(squares < spread<R>(S(1e8)), exponential(S(-0.5) * squares), R{}) * g.present;
        value = g.opacity * falloff;
    }

    /// Adds to the gradients of the Gaussian and of x, given ∂L/∂e.
    VERGENCE_HD void backward(const FieldGaussian<R>& g, const ScalarOf<R>* x,
                              ScalarOf<R> gradValue, FieldGradient<R>& gradient, R* gradX) const
    {
        const R scaled = gradValue * value;
        gradient.opacity += gradValue * falloff;
        for (int axis = 0; axis < 3; ++axis) {
            const R along = scaled * y[axis] / g.scale[axis];
            gradient.logScale[axis] += scaled * y[axis] * y[axis];
            for (int row = 0; row < 3; ++row) {
                const R toPosition = along * g.rotation[3 * row + axis];
                gradient.position[row] += toPosition;
                gradX[row] -= toPosition;
                gradient.rotation[3 * row + axis] -= along * (x[row] - g.position[row]);
            }
        }
    }

    /// |⟨x − p, n⟩|, times e, over s_min²: how much the normal says about the sample.
    VERGENCE_HD R normalWeight(const FieldGaussian<R>& g) const
    {
        using S = ScalarOf<R>;
        const R height = dot3(g.pick, y) * g.smallest(), s = atLeast(g.smallest(), S(1e-6));
        return value * absolute(height) / (s * s);
    }
};

} // namespace vergence::sugar
