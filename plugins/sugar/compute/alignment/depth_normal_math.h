#pragma once

#include <cmath>

#include "core/compute/view.h"

namespace vergence::sugar {

// Consistency of rendered normals with rendered depth. Sources: 2D Gaussian Splatting (2024),
// section 5; depth is the expected depth D/A, normals are Σ w n, camera axes.

/// Coverage at and below which depth means nothing.
template <class Real>
VERGENCE_HD constexpr Real leastCoverage()
{
    return Real(0.5);
}

/// D̂ = D/A and its derivative: gradD = gradD̂/A, gradA = −gradD̂ D̂/A; all 0 where nothing was seen.
template <class Real>
struct ExpectedDepth {
    Real value = 0, inverse = 0;

    VERGENCE_HD ExpectedDepth(Real depth, Real coverage)
    {
        if (coverage > Real(1e-6)) {
            inverse = Real(1) / coverage;
            value = depth * inverse;
        }
    }
    VERGENCE_HD Real gradDepth(Real gradValue) const { return gradValue * inverse; }
    VERGENCE_HD Real gradCoverage(Real gradValue) const { return -gradValue * value * inverse; }
};

/// Camera rays through pixel centres, with z = 1.
template <class Real>
struct PixelRays {
    Real fx, fy, cx, cy;

    VERGENCE_HD void at(Index row, Index column, Real* ray) const
    {
        ray[0] = (static_cast<Real>(column) + Real(0.5) - cx) / fx;
        ray[1] = (static_cast<Real>(row) + Real(0.5) - cy) / fy;
        ray[2] = Real(1);
    }
};

template <class Real>
VERGENCE_HD void crossProduct(const Real* a, const Real* b, Real* c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

template <class Real>
VERGENCE_HD Real innerProduct(const Real* a, const Real* b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// Neighbours of a pixel, in this order.
enum DepthNeighbour : int { kLeft, kRight, kAbove, kBelow, kDepthNeighbours };

/// Surface through the four neighbours of a pixel: dx and dy are differences of their points,
/// m = dy × dx points towards the camera, normal = m/|m|.
template <class Real>
struct DepthSurface {
    Real ray[kDepthNeighbours][3];
    Real dx[3], dy[3], normal[3], length;

    VERGENCE_HD DepthSurface(const PixelRays<Real>& rays, Index row, Index column,
                             const Real* depth)
    {
        rays.at(row, column - 1, ray[kLeft]);
        rays.at(row, column + 1, ray[kRight]);
        rays.at(row - 1, column, ray[kAbove]);
        rays.at(row + 1, column, ray[kBelow]);
        for (int i = 0; i < 3; ++i) {
            dx[i] = depth[kRight] * ray[kRight][i] - depth[kLeft] * ray[kLeft][i];
            dy[i] = depth[kBelow] * ray[kBelow][i] - depth[kAbove] * ray[kAbove][i];
        }
        crossProduct(dy, dx, normal);
        length = std::sqrt(innerProduct(normal, normal));
        const Real inverse = length > Real(0) ? Real(1) / length : Real(0);
        for (int i = 0; i < 3; ++i)
            normal[i] *= inverse;
    }

    /// ∂/∂dx and ∂/∂dy from that of the normal.
    VERGENCE_HD void backward(const Real* gradNormal, Real* gradX, Real* gradY) const
    {
        Real gradM[3];
        const Real along = innerProduct(gradNormal, normal);
        for (int i = 0; i < 3; ++i)
            gradM[i] = (gradNormal[i] - along * normal[i]) / length;
        crossProduct(dx, gradM, gradY);
        crossProduct(gradM, dy, gradX);
    }
};

/// Derivatives of one pixel's term; all 0 where it does not count.
template <class Real>
struct DepthNormalGradient {
    Real normal[3] = {};       ///< of N: −n̂, so never 0 where the pixel counts
    Real x[3] = {}, y[3] = {}; ///< of the differences dx and dy
};

/// ∂/∂D of any pixel of a term: each of its four neighbours has it in one of its differences.
/// `gradient(row, column)` gives theirs, DepthNormalGradient.
template <class Real, class Gradient>
VERGENCE_HD Real gradDepthFrom(const PixelRays<Real>& rays, Index height, Index width, Index row,
                               Index column, const Gradient& gradient)
{
    Real ray[3], sum = 0;
    rays.at(row, column, ray);
    if (column + 1 < width)
        sum -= innerProduct(gradient(row, column + 1).x, ray);
    if (column > 0)
        sum += innerProduct(gradient(row, column - 1).x, ray);
    if (row + 1 < height)
        sum -= innerProduct(gradient(row + 1, column).y, ray);
    if (row > 0)
        sum += innerProduct(gradient(row - 1, column).y, ray);
    return sum;
}

/// The term A − ⟨N, n̂⟩ of one pixel of an image, its coverage A being held fixed. A pixel counts
/// where its four neighbours are covered and depth does not jump between them.
template <class Real>
struct DepthNormalTerm {
    PixelRays<Real> rays;
    View<const Real, 2> depth;         ///< [H, W] expected depth
    View<const Real, 2> transmittance; ///< [H, W] 1 − A
    View<const Real, 3> normal;        ///< [3, H, W] Σ w n

    /// The term, 0 where it does not count.
    VERGENCE_HD Real evaluate(Index row, Index column, DepthNormalGradient<Real>& gradient) const
    {
        if (!isSmooth(row, column))
            return Real(0);
        const Real around[kDepthNeighbours] = {depth(row, column - 1), depth(row, column + 1),
                                               depth(row - 1, column), depth(row + 1, column)};
        const DepthSurface<Real> surface(rays, row, column, around);
        if (!(surface.length > Real(1e-12)))
            return Real(0);
        Real opposite[3];
        for (int i = 0; i < 3; ++i) {
            opposite[i] = -normal(i, row, column);
            gradient.normal[i] = -surface.normal[i];
        }
        surface.backward(opposite, gradient.x, gradient.y);
        return Real(1) - transmittance(row, column) + innerProduct(opposite, surface.normal);
    }

    /// ∂/∂D̂ of any pixel, as in gradDepthFrom().
    template <class Gradient>
    VERGENCE_HD Real gradDepth(Index row, Index column, const Gradient& gradient) const
    {
        return gradDepthFrom(rays, depth.extent(0), depth.extent(1), row, column, gradient);
    }

private:
    VERGENCE_HD bool isSeen(Index row, Index column) const
    {
        return Real(1) - transmittance(row, column) > leastCoverage<Real>();
    }
    VERGENCE_HD bool isSmooth(Index row, Index column) const
    {
        if (row < 1 || column < 1 || row > depth.extent(0) - 2 || column > depth.extent(1) - 2)
            return false;
        const bool isCovered = isSeen(row, column - 1) && isSeen(row, column + 1) &&
                               isSeen(row - 1, column) && isSeen(row + 1, column);
        const Real most = Real(0.1) * depth(row, column);
        return isCovered && std::abs(depth(row, column + 1) - depth(row, column - 1)) < most &&
               std::abs(depth(row + 1, column) - depth(row - 1, column)) < most;
    }
};

/// The term as SuGaR's own code has it: 1 − ⟨N, n̂⟩ at every pixel, where depth is summed but not
/// divided by coverage, N keeps x and y and has z = −√(1 − x² − y²), and what has no surface, the
/// border too, counts 1. The root's slope grows without bound towards silhouettes; below 10⁻⁶ it
/// is left out.
template <class Real>
struct SummedDepthNormalTerm {
    PixelRays<Real> rays;
    View<const Real, 2> depth;  ///< [H, W] Σ w z, 0 where nothing is
    View<const Real, 3> normal; ///< [3, H, W] Σ w n; z is not read

    VERGENCE_HD Real evaluate(Index row, Index column, DepthNormalGradient<Real>& gradient) const
    {
        const Index height = depth.extent(0), width = depth.extent(1);
        if (row < 1 || column < 1 || row > height - 2 || column > width - 2)
            return Real(1);
        const Real around[kDepthNeighbours] = {depth(row, column - 1), depth(row, column + 1),
                                               depth(row - 1, column), depth(row + 1, column)};
        const DepthSurface<Real> surface(rays, row, column, around);
        if (!(surface.length > Real(1e-12)))
            return Real(1);
        const Real x = normal(0, row, column), y = normal(1, row, column);
        const Real square = Real(1) - x * x - y * y;
        const Real root = square > Real(1e-6) ? std::sqrt(square) : Real(0);
        const Real opposite[3] = {-x, -y, root};
        const Real slope = root > Real(0) ? surface.normal[2] / root : Real(0);
        gradient.normal[0] = -surface.normal[0] - slope * x;
        gradient.normal[1] = -surface.normal[1] - slope * y;
        surface.backward(opposite, gradient.x, gradient.y);
        return Real(1) + innerProduct(opposite, surface.normal);
    }

    template <class Gradient>
    VERGENCE_HD Real gradDepth(Index row, Index column, const Gradient& gradient) const
    {
        return gradDepthFrom(rays, depth.extent(0), depth.extent(1), row, column, gradient);
    }
};

} // namespace vergence::sugar
