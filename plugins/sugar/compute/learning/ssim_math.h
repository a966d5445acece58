#pragma once

#include "core/compute/host_device.h"

namespace vergence::sugar {

/// Pixels that the window reaches to each side.
inline constexpr int kSsimReach = 5;
inline constexpr int kSsimWindow = 2 * kSsimReach + 1;

/// Weight of the tap at distance `offset` (0 to 5) along one axis: a Gaussian of σ 1.5 px whose
/// eleven weights sum to 1.
template <class Real>
VERGENCE_HD constexpr Real ssimWeight(int offset)
{
    constexpr double kWeights[kSsimReach + 1] = {0.2660117248617943434, 0.2130055377112536999,
                                                 0.1093606895097000107, 0.0360007721284308236,
                                                 0.0075987581352391842, 0.0010283800844791099};
    return static_cast<Real>(kWeights[offset]);
}

/// Windowed means around one pixel of picture x and reference y. Only the sum of the second moments
/// is ever needed.
template <class Real>
struct SsimMoments {
    Real x, y;    ///< B(x), B(y)
    Real squares; ///< B(x² + y²)
    Real product; ///< B(x y)
};

/// Structural similarity of a pixel and what its derivative needs: with B the window's blur, which
/// is its own adjoint under zero padding, and g = ∂L/∂S of each pixel,
///   ∂L/∂x = B(g·byMean) + 2x·B(g·bySquare) + y·B(g·byProduct).
template <class Real>
struct SsimPoint {
    Real value;
    Real byMean, bySquare, byProduct; ///< ∂S/∂B(x), ∂S/∂B(x²), ∂S/∂B(xy)
};

/// Source: Image quality assessment: from error visibility to structural similarity (2004),
/// equation 13, for a range of 1: C1 = 0.01², C2 = 0.03².
template <class Real>
VERGENCE_HD SsimPoint<Real> ssimPoint(const SsimMoments<Real>& m)
{
    const Real c1 = Real(1e-4), c2 = Real(9e-4), two = Real(2);
    const Real meanProduct = m.x * m.y, meanSquares = m.x * m.x + m.y * m.y;
    const Real n1 = two * meanProduct + c1, n2 = two * (m.product - meanProduct) + c2;
    const Real d1 = meanSquares + c1, d2 = m.squares - meanSquares + c2;
    const Real inverse = Real(1) / (d1 * d2);
    SsimPoint<Real> point;
    point.value = n1 * n2 * inverse;
    point.byMean = two * inverse * (m.y * (n2 - n1) + m.x * point.value * (d1 - d2));
    point.bySquare = -point.value * inverse * d1;
    point.byProduct = two * n1 * inverse;
    return point;
}

/// −1, 0 or 1.
template <class Real>
VERGENCE_HD Real signOf(Real value)
{
    return static_cast<Real>(value > Real(0)) - static_cast<Real>(value < Real(0));
}

} // namespace vergence::sugar
