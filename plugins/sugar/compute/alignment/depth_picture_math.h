#pragma once

#include "core/compute/view.h"
#include "plugins/sugar/compute/alignment/depth_normal_math.h"

namespace vergence::sugar {

/// A rendered picture's depth between its pixels.
template <class S>
struct DepthPicture {
    const S* depth = nullptr;         ///< [H, W] Σ w z
    const S* transmittance = nullptr; ///< [H, W] 1 − A
    Index height = 0, width = 0;

    /// Expected depth D/A at (u, v) px, bilinear, as at the border beyond it; a negative number
    /// where one of the four pixels is not covered.
    VERGENCE_HD S at(S u, S v) const
    {
        const S x = clamped(u - S(0.5), width), y = clamped(v - S(0.5), height);
        const Index left = static_cast<Index>(x), above = static_cast<Index>(y);
        const Index right = left + 1 < width ? left + 1 : left,
                    below = above + 1 < height ? above + 1 : above;
        const S corner[4] = {expected(above, left), expected(above, right), expected(below, left),
                             expected(below, right)};
        for (const S depthThere : corner) {
            if (depthThere < S(0))
                return S(-1);
        }
        const S toRight = x - static_cast<S>(left), down = y - static_cast<S>(above);
        return (S(1) - down) * (corner[0] + toRight * (corner[1] - corner[0])) +
               down * (corner[2] + toRight * (corner[3] - corner[2]));
    }

private:
    VERGENCE_HD static S clamped(S at, Index extent)
    {
        const S last = static_cast<S>(extent - 1);
        return at > S(0) ? (at < last ? at : last) : S(0);
    }
    VERGENCE_HD S expected(Index row, Index column) const
    {
        const S coverage = S(1) - transmittance[row * width + column];
        return coverage > leastCoverage<S>() ? depth[row * width + column] / coverage : S(-1);
    }
};

} // namespace vergence::sugar
