#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "plugins/sugar/texture/square_packing.h"

namespace vergence::sugar {

inline constexpr std::uint32_t kNoFace = ~0U;

/// A triangle in its picture: texels, x to the right, y down.
struct TexelTriangle {
    double x[3], y[3];
    double area; ///< twice, signed; 0: there are no coordinates

    TexelTriangle(const TextureAtlas& atlas, Index face)
    {
        const float* uv = atlas.uv.data() + 6 * face;
        for (int k = 0; k < 3; ++k) {
            x[k] = static_cast<double>(uv[2 * k]) * atlas.side;
            y[k] = (1 - static_cast<double>(uv[2 * k + 1])) * atlas.side;
        }
        area = twiceArea();
    }
    explicit TexelTriangle(const std::array<std::array<double, 2>, 3>& corners)
    {
        for (std::size_t k = 0; k < 3; ++k) {
            x[k] = corners[k][0];
            y[k] = corners[k][1];
        }
        area = twiceArea();
    }

    double left() const { return std::min({x[0], x[1], x[2]}); }
    double right() const { return std::max({x[0], x[1], x[2]}); }
    double top() const { return std::min({y[0], y[1], y[2]}); }
    double bottom() const { return std::max({y[0], y[1], y[2]}); }

    /// Whether the square about (cx, cy) that reaches `reach` to each side meets the triangle; for
    /// a reach of 0, whether the point lies in it, with 0.01 texels to spare for rounding.
    bool meets(double cx, double cy, double reach) const
    {
        constexpr double kSpare = 0.01;
        const double turn = area < 0 ? -1 : 1;
        for (int k = 0; k < 3; ++k) {
            const int next = (k + 1) % 3;
            const double ex = x[next] - x[k], ey = y[next] - y[k];
            const double size = std::hypot(ex, ey);
            const double inside = turn * (ex * (cy - y[k]) - ey * (cx - x[k]));
            const double support =
                reach > 0 ? (reach - kSpare) * (std::abs(ex) + std::abs(ey)) : kSpare * size;
            if (inside < -support)
                return false;
        }
        const double box = reach > 0 ? reach - kSpare : kSpare;
        return cx > left() - box && cx < right() + box && cy > top() - box && cy < bottom() + box;
    }

private:
    double twiceArea() const
    {
        return (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    }
};

/// The rows [begin, end) of a picture and the triangle that owns each of their texels: the one its
/// centre lies in, or one that bilinear lookups read it for.
struct TexelOwners {
    int begin = 0, end = 0, side = 0;
    std::vector<std::uint32_t> face;  ///< [end − begin, side], kNoFace where there is none
    std::vector<std::uint32_t> faces; ///< that may own texels here, ascending
    std::vector<std::uint32_t> start; ///< [faces + 1] of the texels of each in `texel`
    std::vector<std::uint32_t> texel; ///< entries of `face`, ascending for each of `faces`

    TexelOwners(const TextureAtlas& atlas, int firstRow, int lastRow);

    std::size_t at(int row, int column) const
    {
        return static_cast<std::size_t>(row - begin) * static_cast<std::size_t>(side) +
               static_cast<std::size_t>(column);
    }

    /// Calls use(row, column) for the texels that faces[i] owns.
    template <class Use>
    void eachTexelOf(std::size_t i, const Use& use) const
    {
        for (std::uint32_t n = start[i]; n < start[i + 1]; ++n)
            use(begin + static_cast<int>(texel[n]) / side, static_cast<int>(texel[n]) % side);
    }

private:
    template <class Use>
    void eachTexelAround(const TexelTriangle& triangle, const Use& use) const;
};

} // namespace vergence::sugar
