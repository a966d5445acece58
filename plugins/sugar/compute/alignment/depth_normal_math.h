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

    /// gradDepth of the four neighbours (overwritten) from that of the normal.
    VERGENCE_HD void backward(const Real* gradNormal, Real* gradDepth) const
    {
        Real gradM[3], gradX[3], gradY[3];
        const Real along = innerProduct(gradNormal, normal);
        for (int i = 0; i < 3; ++i)
            gradM[i] = (gradNormal[i] - along * normal[i]) / length;
        crossProduct(dx, gradM, gradY);
        crossProduct(gradM, dy, gradX);
        gradDepth[kLeft] = -innerProduct(gradX, ray[kLeft]);
        gradDepth[kRight] = innerProduct(gradX, ray[kRight]);
        gradDepth[kAbove] = -innerProduct(gradY, ray[kAbove]);
        gradDepth[kBelow] = innerProduct(gradY, ray[kBelow]);
    }
};

/// The term A − ⟨N, n̂⟩ of one pixel of an image, its coverage A being held fixed. A pixel counts
/// where its four neighbours are covered and depth does not jump between them.
template <class Real>
struct DepthNormalTerm {
    PixelRays<Real> rays;
    View<const Real, 2> depth;    ///< [H, W] expected depth
    View<const Real, 2> coverage; ///< [H, W]
    View<const Real, 3> normal;   ///< [3, H, W] Σ w n

    VERGENCE_HD bool counts(Index row, Index column) const
    {
        if (row < 1 || column < 1 || row > depth.extent(0) - 2 || column > depth.extent(1) - 2)
            return false;
        const bool isCovered = isSeen(row, column - 1) && isSeen(row, column + 1) &&
                               isSeen(row - 1, column) && isSeen(row + 1, column);
        const Real most = Real(0.1) * depth(row, column);
        return isCovered && std::abs(depth(row, column + 1) - depth(row, column - 1)) < most &&
               std::abs(depth(row + 1, column) - depth(row - 1, column)) < most &&
               surface(row, column).length > Real(1e-12);
    }

    /// Of a pixel that counts.
    VERGENCE_HD Real value(Index row, Index column) const
    {
        Real n[3];
        rendered(row, column, n);
        return coverage(row, column) - innerProduct(n, surface(row, column).normal);
    }

    /// ∂/∂N of a pixel that counts, times `factor`.
    VERGENCE_HD void gradNormal(Index row, Index column, Real factor, Real* gradient) const
    {
        const DepthSurface<Real> here = surface(row, column);
        for (int i = 0; i < 3; ++i)
            gradient[i] = -factor * here.normal[i];
    }

    /// ∂/∂D̂ of any pixel, gathered from the terms it is a neighbour of, times `factor`.
    VERGENCE_HD Real gradDepth(Index row, Index column, Real factor) const
    {
        return fromTerm(row, column + 1, kLeft, factor) +
               fromTerm(row, column - 1, kRight, factor) +
               fromTerm(row + 1, column, kAbove, factor) +
               fromTerm(row - 1, column, kBelow, factor);
    }

private:
    VERGENCE_HD bool isSeen(Index row, Index column) const
    {
        return coverage(row, column) > leastCoverage<Real>();
    }
    VERGENCE_HD void rendered(Index row, Index column, Real* n) const
    {
        for (int i = 0; i < 3; ++i)
            n[i] = normal(i, row, column);
    }
    VERGENCE_HD DepthSurface<Real> surface(Index row, Index column) const
    {
        const Real around[kDepthNeighbours] = {depth(row, column - 1), depth(row, column + 1),
                                               depth(row - 1, column), depth(row + 1, column)};
        return DepthSurface<Real>(rays, row, column, around);
    }
    VERGENCE_HD Real fromTerm(Index row, Index column, int neighbour, Real factor) const
    {
        if (!counts(row, column))
            return Real(0);
        Real n[3], gradient[kDepthNeighbours];
        rendered(row, column, n);
        for (Real& component : n)
            component *= -factor;
        surface(row, column).backward(n, gradient);
        return gradient[neighbour];
    }
};

} // namespace vergence::sugar
