#pragma once

#include "plugins/sugar/compute/alignment/density_field_math.h"

namespace vergence::sugar {

// What a sample of the field costs, in two passes over the neighbours of its parent: their sums,
// then the gradient of each. R is a number or a vector of numbers, one neighbour per lane.

/// Sum of the lanes, in their order.
template <class R>
VERGENCE_HD ScalarOf<R> sumOfLanes(const R& x)
{
    if constexpr (kIsScalar<R>) {
        return x;
    } else {
        ScalarOf<R> sum = 0;
        for (unsigned i = 0; i < sizeof(R) / sizeof(ScalarOf<R>); ++i)
            sum += x[i];
        return sum;
    }
}

/// What the neighbours of a sample add up to.
template <class R>
struct FieldSums {
    R density = {}, smallest = {}, count = {};
    R share = {}, normal[3] = {}; ///< of normalWeight(), and of its products with normals

    VERGENCE_HD void add(const FieldGaussian<R>& g, const FieldWeight<R>& weight,
                         const ScalarOf<R>* parentNormal)
    {
        density += weight.value;
        smallest += g.present * g.smallest();
        count += g.present;
        const R own = weight.normalWeight(g), signedShare = turned(g, own, parentNormal);
        share += own;
        for (int row = 0; row < 3; ++row)
            normal[row] += signedShare * g.normal(row);
    }
    /// `share` with the sign that turns the normal to the side of the parent's.
    VERGENCE_HD static R turned(const FieldGaussian<R>& g, R share, const ScalarOf<R>* parentNormal)
    {
        const R cosine = g.normal(0) * parentNormal[0] + g.normal(1) * parentNormal[1] +
                         g.normal(2) * parentNormal[2];
        return select(cosine < R{}, -share, share);
    }
    VERGENCE_HD FieldSums<ScalarOf<R>> total() const
    {
        FieldSums<ScalarOf<R>> all;
        all.density = sumOfLanes(density);
        all.smallest = sumOfLanes(smallest);
        all.count = sumOfLanes(count);
        all.share = sumOfLanes(share);
        for (int row = 0; row < 3; ++row)
            all.normal[row] = sumOfLanes(normal[row]);
        return all;
    }
};

/// A sample's ∂L/∂ of e, of s_min and of n times its share, of every neighbour.
template <class S>
struct SampleGradient {
    S byDensity = 0, bySmallest = 0, byNormal[3] = {};

    /// Adds to the gradients of a neighbour and of x.
    template <class R>
    VERGENCE_HD void backward(const FieldGaussian<R>& g, const FieldWeight<R>& weight, const S* x,
                              const S* parentNormal, FieldGradient<R>& gradient, R* gradX) const
    {
        weight.backward(g, x, byDensity, gradient, gradX);
        const R share = FieldSums<R>::turned(g, weight.normalWeight(g), parentNormal);
        const R bySize = bySmallest * g.present * g.smallest();
        for (int axis = 0; axis < 3; ++axis) {
            gradient.logScale[axis] += g.pick[axis] * bySize;
            for (int row = 0; row < 3; ++row)
                gradient.rotation[3 * row + axis] += g.pick[axis] * share * byNormal[row];
        }
    }
};

/// |d − d̄|: density d = Σ e against d̄ = exp(−h²/(2 β²)), h = 1.5 s_min ξ_min the height above the
/// parent's plane and β the mean of the neighbours' smallest scales. All dependencies are
/// differentiated, times `factor`; with `isDetached` those of d on its neighbours alone.
template <class S>
VERGENCE_HD S densityTerm(const FieldGaussian<S>& parent, const S* normal, const FieldSums<S>& sums,
                          S factor, bool isDetached, SampleGradient<S>& gradient,
                          FieldGradient<S>& parentGradient)
{
    const S beta = sums.smallest / sums.count;
    const S ratio = S(kSampleSpread) * parent.smallest() * dot3(parent.pick, normal) / beta;
    const S target = exponential(S(-0.5) * ratio * ratio), difference = sums.density - target;
    const S byDensity = difference > S(0) ? factor : difference < S(0) ? -factor : S(0);
    gradient.byDensity += byDensity;
    if (!isDetached) {
        const S toTarget = byDensity * target * ratio * ratio;
        gradient.bySmallest -= toTarget / sums.smallest;
        for (int axis = 0; axis < 3; ++axis)
            parentGradient.logScale[axis] += parent.pick[axis] * toTarget;
    }
    return absolute(difference);
}

/// |f − target| over a tenth of the extent, at most ten extents, of the signed distance
/// f = β √(−2 ln d) that a density d = Σ e/K would have; `target` is held fixed. The slope of f is
/// unbounded where d nears 1; beyond 1 − 1e-4 it counts as 0.
template <class S>
VERGENCE_HD S distanceTerm(const FieldSums<S>& sums, S target, S extent, S factor, bool isDetached,
                           SampleGradient<S>& gradient)
{
    const S mean = sums.density / sums.count, beta = sums.smallest / sums.count;
    const S least = S(1e-16), most = S(1) - S(1e-4);
    const bool isFree = mean > least && mean < most;
    const S density = mean < least ? least : mean > most ? most : mean;
    const S root = squareRoot(S(-2) * logarithm(density));
    const S difference = beta * root - target, error = absolute(difference) * S(10) / extent;
    if (!(error < S(10) * extent))
        return S(10) * extent;
    const S slope = (difference > S(0)   ? factor
                     : difference < S(0) ? -factor
                                         : S(0)) *
                    S(10) / extent;
    if (isFree)
        gradient.byDensity -= slope * beta / (density * root * sums.count);
    if (!isDetached)
        gradient.bySmallest += slope * root / sums.count;
    return error;
}

/// |r|², r = n − Σ w_i n_i: the parent's normal against those of its neighbours, turned to its
/// side. The weights w_i, of normalWeight() and sum 1, are held fixed.
template <class S>
VERGENCE_HD S normalTerm(const FieldGaussian<S>& parent, const FieldSums<S>& sums, S factor,
                         SampleGradient<S>& gradient, FieldGradient<S>& parentGradient)
{
    const S inverse = S(1) / (sums.share > S(1e-6) ? sums.share : S(1e-6));
    S squares = 0;
    for (int row = 0; row < 3; ++row) {
        const S r = parent.normal(row) - sums.normal[row] * inverse;
        squares += r * r;
        gradient.byNormal[row] -= S(2) * factor * r * inverse;
        for (int axis = 0; axis < 3; ++axis)
            parentGradient.rotation[3 * row + axis] += parent.pick[axis] * S(2) * factor * r;
    }
    return squares;
}

} // namespace vergence::sugar
