#pragma once

#include <cmath>

#include "plugins/sugar/compute/raster_kernels.h"

namespace vergence::sugar {

/// log2(1/255): exponents below are skipped.
inline constexpr float kLevelCut = -7.99435344F;

/// Columns of tiles [first, last) that a splat reaches in one row of tiles.
struct TileSpan {
    int first, last;
};

/// Where the visible ellipse meets the pixel centres of one row of tiles: exact, because the part
/// of an ellipse between two lines is convex. Its widest points are the own extremes of the ellipse
/// or lie on the border of the band.
VERGENCE_HD TileSpan tileSpan(const Splat& s, const TileBox& box, int tileRow)
{
    if (box.x1 - box.x0 == 1)
        return {box.x0, box.x1};
    const float k = s.level - kLevelCut;
    const float top = s.v - (static_cast<float>(tileRow * kTile) + 0.5F),
                bottom = top - (kTile - 1);
    constexpr float kSlack = 0.01F; // px: rounding must not lose a pixel
    // dy of the leftmost and the rightmost point of the whole ellipse, clamped to the band.
    const float height = std::sqrt(k / s.row) + kSlack,
                width2 = k * s.column + s.slope * s.slope * k / s.row;
    const float tilt = s.slope * k / (s.row * std::sqrt(width2));
    const float high = std::fmin(top, height), low = std::fmax(bottom, -height);
    if (low > high)
        return {box.x0, box.x0};
    const float right = std::fmin(std::fmax(tilt, low), high);
    const float left = std::fmin(std::fmax(-tilt, low), high);
    const float rightHalf = std::sqrt(std::fmax(0.0F, (k - s.row * right * right) * s.column));
    const float leftHalf = std::sqrt(std::fmax(0.0F, (k - s.row * left * left) * s.column));
    const float x1 = s.u + s.slope * right + rightHalf + kSlack;
    const float x0 = s.u + s.slope * left - leftHalf - kSlack;
    // Tile i covers the centres 16 i + 0.5 … 16 i + 15.5.
    const int first = static_cast<int>(std::ceil((x0 - 15.5F) / kTile));
    const int last = static_cast<int>(std::floor((x1 - 0.5F) / kTile)) + 1;
    TileSpan span{first > box.x0 ? first : box.x0, last < box.x1 ? last : box.x1};
    if (span.last < span.first)
        span.last = span.first;
    return span;
}

} // namespace vergence::sugar
