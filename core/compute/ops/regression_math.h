#pragma once

#include "core/compute/ops/fast_math.h"

namespace vergence {

/// Penalties of a difference d and their derivatives. Real as in fast_math.h; the parameter
/// `width` says where each changes from square to absolute.
struct SquarePenalty {
    template <class Real>
    static VERGENCE_HD Real value(Real d, ScalarOf<Real>)
    {
        return d * d;
    }
    template <class Real>
    static VERGENCE_HD Real derivative(Real d, ScalarOf<Real>)
    {
        return d + d;
    }
};

/// √(d² + c²) − c, written so that nothing cancels near 0.
struct SmoothAbsolutePenalty {
    template <class Real>
    static VERGENCE_HD Real value(Real d, ScalarOf<Real> c)
    {
        return d * d / (squareRoot(d * d + c * c) + c);
    }
    template <class Real>
    static VERGENCE_HD Real derivative(Real d, ScalarOf<Real> c)
    {
        return d / squareRoot(d * d + c * c);
    }
};

/// ½ d²/beta where |d| < beta, |d| − ½ beta elsewhere.
struct SmoothL1Penalty {
    template <class Real>
    static VERGENCE_HD Real value(Real d, ScalarOf<Real> beta)
    {
        using S = ScalarOf<Real>;
        const Real size = absolute(d);
        return select(size < beta, d * d * (S(0.5) / beta), size - S(0.5) * beta);
    }
    template <class Real>
    static VERGENCE_HD Real derivative(Real d, ScalarOf<Real> beta)
    {
        using S = ScalarOf<Real>;
        const Real sign = select(d > S(0), spread<Real>(S(1)), spread<Real>(S(-1)));
        return select(absolute(d) < beta, d / beta, sign);
    }
};

} // namespace vergence
