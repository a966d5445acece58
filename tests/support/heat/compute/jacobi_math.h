#pragma once

#include "core/compute/view.h"

namespace vergence::heat {

/// One Jacobi sweep of Laplace's equation, five-point stencil. The border is held fixed.
template <class Real>
struct JacobiStep {
    View<const Real, 2> u; ///< [H, W] temperature, K
    View<Real, 2> next;    ///< [H, W] temperature, K; overwritten, must not alias u

    VERGENCE_HD void operator()(Index i) const
    {
        const Index h = u.extent(0), w = u.extent(1), y = i / w, x = i % w;
        const bool border = y == 0 || x == 0 || y == h - 1 || x == w - 1;
        next(y, x) =
            border ? u(y, x) : Real(0.25) * (u(y - 1, x) + u(y + 1, x) + u(y, x - 1) + u(y, x + 1));
    }
};

} // namespace vergence::heat
