#pragma once

#include <cmath>

#include "core/compute/ops/fast_math.h"
#include "plugins/sugar/compute/raster_kernels.h"

namespace vergence::sugar {

/// log2(1/255): exponents below are skipped.
inline constexpr float kLevelCut = -7.99435344F;

/// a b, rounded by itself and never part of a fused multiply-add: the kernel that counts the tiles
/// of a splat and the one that lists them must get the same bits from every compiler. On the CPU no
/// kernel file fuses.
template <class R>
VERGENCE_HD R product(R a, R b)
{
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

/// Between which x the visible ellipse lies in a band of rows, px; nothing where low > high.
template <class R>
struct EllipseBand {
    R low, high;
};

/// Where the visible ellipse meets the pixel centres of the row of tiles that begins at y = `top`:
/// exact, because the part of an ellipse between two lines is convex. Its widest points are the own
/// extremes of the ellipse or lie on the border of the band. R is a number or a vector of numbers.
template <class R>
VERGENCE_HD EllipseBand<R> ellipseBand(R u, R v, R level, R slope, R row, R column, R top)
{
    constexpr float kSlack = 0.01F; // px: rounding must not lose a pixel
    const auto least = [](R a, R b) { return select(a < b, a, b); };
    const auto most = [](R a, R b) { return select(a > b, a, b); };
    const R k = level - kLevelCut, height2 = k / row;
    const R height = squareRoot(height2) + kSlack;
    const R upper = v - (top + 0.5F), lower = upper - float(kTile - 1);
    const R high = least(upper, height), low = most(lower, -height);
    // dy of the rightmost point of the whole ellipse; that of the leftmost is its opposite.
    const R tilt = product(slope, height2) /
                   squareRoot(product(k, column) + product(product(slope, slope), height2));
    const R right = least(most(tilt, low), high), left = least(most(-tilt, low), high);
    const auto half = [&](R dy) {
        return squareRoot(most(product(k - product(product(row, dy), dy), column), R{}));
    };
    const R x0 = u + product(slope, left) - half(left) - kSlack;
    const R x1 = u + product(slope, right) + half(right) + kSlack;
    return {select(low > high, x1 + 1.0F, x0), x1};
}

/// Columns of tiles [first, last) that a splat reaches in one row of tiles.
struct TileSpan {
    int first, last;
};

VERGENCE_HD TileSpan tileSpan(const Splat& s, const TileBox& box, int tileRow)
{
    if (box.x1 - box.x0 == 1)
        return {box.x0, box.x1};
    const EllipseBand<float> band = ellipseBand<float>(s.u, s.v, s.level, s.slope, s.row, s.column,
                                                       static_cast<float>(tileRow * kTile));
    // Tile i covers the centres 16 i + 0.5 … 16 i + 15.5.
    const int first = static_cast<int>(std::ceil((band.low - (kTile - 0.5F)) / kTile));
    const int last = static_cast<int>(std::floor((band.high - 0.5F) / kTile)) + 1;
    TileSpan span{first > box.x0 ? first : box.x0, last < box.x1 ? last : box.x1};
    if (span.last < span.first || band.low > band.high)
        span.last = span.first;
    return span;
}

/// Which tiles of a box of at most 8 × 8 a splat reaches, bit 8 row + column from the corner of the
/// box; 0 where the box is larger and tileSpan() has to be asked.
inline constexpr int kMaskSide = 8;

} // namespace vergence::sugar
