#pragma once

#include "core/compute/ops/number_lanes.h"

namespace vergence::sugar {

// Real spherical harmonics up to degree 3 and what they give a Gaussian: its colour in the
// direction d (a unit vector from the camera to the Gaussian, world axes). R is a number or a
// vector of numbers. Source: 3D Gaussian Splatting (2023), section 4, in the order and with the
// signs of its files.

/// Coefficients of degrees 0 to `degree`.
VERGENCE_HD constexpr int shCoefficients(int degree)
{
    return (degree + 1) * (degree + 1);
}

template <class S>
struct ShConstants {
    static constexpr S c0 = S(0.28209479177387814), c1 = S(0.4886025119029199);
    static constexpr S c20 = S(1.0925484305920792), c22 = S(0.31539156525252005),
                       c24 = S(0.5462742152960396);
    static constexpr S c30 = S(-0.5900435899266435), c31 = S(2.890611442640554),
                       c32 = S(-0.4570457994644658), c33 = S(0.3731763325901154),
                       c35 = S(1.445305721320277);
};

/// basis[k] = Y_k(d) for the (Degree + 1)² functions.
template <int Degree, class R>
VERGENCE_HD void shBasis(const R* d, R* basis)
{
    using S = ScalarOf<R>;
    using C = ShConstants<S>;
    basis[0] = spread<R>(C::c0);
    if constexpr (Degree >= 1) {
        basis[1] = -C::c1 * d[1];
        basis[2] = C::c1 * d[2];
        basis[3] = -C::c1 * d[0];
    }
    if constexpr (Degree >= 2) {
        const R xx = d[0] * d[0], yy = d[1] * d[1], zz = d[2] * d[2];
        basis[4] = C::c20 * (d[0] * d[1]);
        basis[5] = -C::c20 * (d[1] * d[2]);
        basis[6] = C::c22 * (S(2) * zz - xx - yy);
        basis[7] = -C::c20 * (d[0] * d[2]);
        basis[8] = C::c24 * (xx - yy);
        if constexpr (Degree >= 3) {
            basis[9] = C::c30 * (d[1] * (S(3) * xx - yy));
            basis[10] = C::c31 * (d[0] * d[1] * d[2]);
            basis[11] = C::c32 * (d[1] * (S(4) * zz - xx - yy));
            basis[12] = C::c33 * (d[2] * (S(2) * zz - S(3) * xx - S(3) * yy));
            basis[13] = C::c32 * (d[0] * (S(4) * zz - xx - yy));
            basis[14] = C::c35 * (d[2] * (xx - yy));
            basis[15] = C::c30 * (d[0] * (xx - S(3) * yy));
        }
    }
}

/// gradD = Σ_k g[k] ∇Y_k(d), of the functions as polynomials of three free variables; overwrites.
template <int Degree, class R>
VERGENCE_HD void shBasisBackward(const R* d, const R* g, R* gradD)
{
    using S = ScalarOf<R>;
    using C = ShConstants<S>;
    for (int i = 0; i < 3; ++i)
        gradD[i] = R{};
    if constexpr (Degree >= 1) {
        gradD[0] = -C::c1 * g[3];
        gradD[1] = -C::c1 * g[1];
        gradD[2] = C::c1 * g[2];
    }
    if constexpr (Degree >= 2) {
        const R x = d[0], y = d[1], z = d[2];
        const R g4 = C::c20 * g[4], g5 = -C::c20 * g[5], g6 = C::c22 * g[6], g7 = -C::c20 * g[7],
                g8 = C::c24 * g[8];
        gradD[0] += y * g4 - S(2) * (x * g6) + z * g7 + S(2) * (x * g8);
        gradD[1] += x * g4 + z * g5 - S(2) * (y * g6) - S(2) * (y * g8);
        gradD[2] += y * g5 + S(4) * (z * g6) + x * g7;
        if constexpr (Degree >= 3) {
            const R xx = x * x, yy = y * y, zz = z * z, xy = x * y, xz = x * z, yz = y * z;
            const R g9 = C::c30 * g[9], g10 = C::c31 * g[10], g11 = C::c32 * g[11],
                    g12 = C::c33 * g[12], g13 = C::c32 * g[13], g14 = C::c35 * g[14],
                    g15 = C::c30 * g[15];
            gradD[0] += S(6) * (xy * g9) + yz * g10 - S(2) * (xy * g11) - S(6) * (xz * g12) +
                        (S(4) * zz - S(3) * xx - yy) * g13 + S(2) * (xz * g14) +
                        S(3) * ((xx - yy) * g15);
            gradD[1] += S(3) * ((xx - yy) * g9) + xz * g10 + (S(4) * zz - xx - S(3) * yy) * g11 -
                        S(6) * (yz * g12) - S(2) * (xy * g13) - S(2) * (yz * g14) -
                        S(6) * (xy * g15);
            gradD[2] += xy * g10 + S(8) * (yz * g11) + (S(6) * zz - S(3) * xx - S(3) * yy) * g12 +
                        S(8) * (xz * g13) + (xx - yy) * g14;
        }
    }
}

/// Colour of one channel before it is clamped: 0.5 + Σ_k Y_k h_k. `coefficient(k)` gives h_k.
template <int Degree, class R, class Coefficient>
VERGENCE_HD R shChannel(const R* basis, const Coefficient& coefficient)
{
    R sum = spread<R>(ScalarOf<R>(0.5));
    for (int k = 0; k < shCoefficients(Degree); ++k)
        sum = multiplyAdd(basis[k], coefficient(k), sum);
    return sum;
}

} // namespace vergence::sugar
