#pragma once

#include "core/compute/ops/fast_math.h"

namespace vergence::sugar {

// How one Gaussian looks to a camera, and the derivative of exactly that. R is a number or a vector
// of numbers (one Gaussian per lane), so there are no branches: what must not count is masked by
// the caller. Sources: EWA splatting (2002); 3D Gaussian Splatting (2023), section 4 and appendix
// A; Mip-Splatting (2023), equations 8 to 10.
//
// t = W p + d; J the Jacobian of the projection at t, with tx/tz and ty/tz clamped to 1.3 times the
// field of view; N = W R diag(s~) with s~² = s² + f²; P = J N (2 × 3); blurred covariance
// (a, b, c) = P Pᵀ + ε I, determinant D; conic (A, B, C) its inverse.

/// Smallest (det before blur / det after blur) that the compensation follows.
inline constexpr double kCompensationFloor = 2.5e-5;

/// A pinhole camera as kernels want it.
template <class S>
struct CameraView {
    S rotation[9], translation[3], centre[3];
    S fx, fy, cx, cy;
    S left, right, top, bottom; ///< tx/tz is clamped to [−left, right], ty/tz to [−top, bottom]
    S near, far;                ///< camera z, world units
    int width, height;
};

/// The blur of a pixel, px², and whether opacity is lowered to keep the splat's sum.
template <class S>
struct ScreenFilter {
    S variance;
    bool compensates;
};

/// Parameters of one Gaussian as they are stored; `filter` is the σ of its 3D smoothing filter.
template <class R>
struct RawGaussian {
    R position[3], logScale[3], rotation[4], opacity, filter;
};

template <class R>
struct Projection {
    // What is blended.
    R u, v, conicA, conicB, conicC, opacity, depth, normal[3];
    // What the derivative and the culls need as well.
    R t[3], quaternion[4], inverseNorm;
    R camera[9]; ///< W R, row-major
    R scale2[3], smooth2[3], smooth[3];
    R n[9];         ///< N
    R p0[3], p1[3]; ///< rows of P
    R j00, j02, j11, j12;
    R freeX, freeY;   ///< 1 where tx/tz (ty/tz) was not clamped, else 0
    R slopeX, slopeY; ///< tx/tz and ty/tz after the clamp
    R a0, c0, a, b, c, determinant;
    R rho, isCompensated; ///< 1 where ρ is above its floor
    R rawOpacity, filteredOpacity;
    R pick[3], normalSign; ///< one-hot choice of the shortest axis
};

template <class R>
VERGENCE_HD R dot3(const R* a, const R* b)
{
    return multiplyAdd(a[0], b[0], multiplyAdd(a[1], b[1], a[2] * b[2]));
}

/// R(q), row-major, of a unit quaternion w x y z.
template <class R>
VERGENCE_HD void rotationOf(const R* q, R* m)
{
    using S = ScalarOf<R>;
    const R w = q[0], x = q[1], y = q[2], z = q[3];
    const R one = spread<R>(S(1));
    m[0] = one - S(2) * (y * y + z * z);
    m[1] = S(2) * (x * y - w * z);
    m[2] = S(2) * (x * z + w * y);
    m[3] = S(2) * (x * y + w * z);
    m[4] = one - S(2) * (x * x + z * z);
    m[5] = S(2) * (y * z - w * x);
    m[6] = S(2) * (x * z - w * y);
    m[7] = S(2) * (y * z + w * x);
    m[8] = one - S(2) * (x * x + y * y);
}

/// gradQ = ∂L/∂q of the stored quaternion, given g = ∂L/∂R, the unit quaternion and 1/|q|.
template <class R>
VERGENCE_HD void rotationBackward(const R* unit, R inverseNorm, const R* g, R* gradQ)
{
    using S = ScalarOf<R>;
    const R w = unit[0], x = unit[1], y = unit[2], z = unit[3];
    const R s01 = g[1] + g[3], s02 = g[2] + g[6], s12 = g[5] + g[7];
    const R d21 = g[7] - g[5], d02 = g[2] - g[6], d10 = g[3] - g[1];
    const R raw[4] = {S(2) * (x * d21 + y * d02 + z * d10),
                      S(2) * (y * s01 + z * s02 + w * d21 - S(2) * (x * (g[4] + g[8]))),
                      S(2) * (x * s01 + z * s12 + w * d02 - S(2) * (y * (g[0] + g[8]))),
                      S(2) * (x * s02 + y * s12 + w * d10 - S(2) * (z * (g[0] + g[4])))};
    const R along = raw[0] * w + raw[1] * x + raw[2] * y + raw[3] * z;
    for (int i = 0; i < 4; ++i)
        gradQ[i] = (raw[i] - along * unit[i]) * inverseNorm;
}

/// x clamped to [low, high]; isFree becomes 1 where it was inside.
template <class R>
VERGENCE_HD R clampTracked(R x, ScalarOf<R> low, ScalarOf<R> high, R& isFree)
{
    using S = ScalarOf<R>;
    const R lower = spread<R>(low), upper = spread<R>(high);
    const R clamped = select(x < lower, lower, select(x > upper, upper, x));
    isFree = select(clamped == x, spread<R>(S(1)), R{});
    return clamped;
}

namespace projection {

/// Shape in camera axes: W R, s, s~, the shortest axis and its normal towards the camera.
template <class R>
VERGENCE_HD void shape(const CameraView<ScalarOf<R>>& view, const RawGaussian<R>& g,
                       Projection<R>& p)
{
    using S = ScalarOf<R>;
    const R norm2 = g.rotation[0] * g.rotation[0] + g.rotation[1] * g.rotation[1] +
                    g.rotation[2] * g.rotation[2] + g.rotation[3] * g.rotation[3];
    p.inverseNorm = S(1) / squareRoot(norm2);
    for (int i = 0; i < 4; ++i)
        p.quaternion[i] = g.rotation[i] * p.inverseNorm;
    R m[9];
    rotationOf(p.quaternion, m);
    for (int row = 0; row < 3; ++row) {
        const S* w = view.rotation + 3 * row;
        for (int k = 0; k < 3; ++k)
            p.camera[3 * row + k] = w[0] * m[k] + w[1] * m[3 + k] + w[2] * m[6 + k];
    }
    for (int i = 0; i < 3; ++i) {
        const R s = exponential(g.logScale[i]);
        p.scale2[i] = s * s;
        p.smooth2[i] = p.scale2[i] + g.filter * g.filter;
        p.smooth[i] = squareRoot(p.smooth2[i]);
        for (int row = 0; row < 3; ++row)
            p.n[3 * row + i] = p.camera[3 * row + i] * p.smooth[i];
    }
}

/// The shortest axis (the first of equals) as a unit normal that faces the camera.
template <class R>
VERGENCE_HD void normal(const RawGaussian<R>& g, Projection<R>& p)
{
    using S = ScalarOf<R>;
    const R one = spread<R>(S(1)), *s = g.logScale;
    p.pick[0] = select((s[0] <= s[1]) & (s[0] <= s[2]), one, R{});
    p.pick[1] = (one - p.pick[0]) * select(s[1] <= s[2], one, R{});
    p.pick[2] = one - p.pick[0] - p.pick[1];
    R axis[3];
    for (int row = 0; row < 3; ++row)
        axis[row] = dot3(p.camera + 3 * row, p.pick);
    p.normalSign = select(dot3(axis, p.t) < R{}, one, -one);
    for (int row = 0; row < 3; ++row)
        p.normal[row] = p.normalSign * axis[row];
}

template <class R>
VERGENCE_HD void conicOf(const ScreenFilter<ScalarOf<R>>& blur, Projection<R>& p)
{
    using S = ScalarOf<R>;
    for (int i = 0; i < 3; ++i) {
        p.p0[i] = p.j00 * p.n[i] + p.j02 * p.n[6 + i];
        p.p1[i] = p.j11 * p.n[3 + i] + p.j12 * p.n[6 + i];
    }
    p.a0 = dot3(p.p0, p.p0);
    p.b = dot3(p.p0, p.p1);
    p.c0 = dot3(p.p1, p.p1);
    p.a = p.a0 + blur.variance;
    p.c = p.c0 + blur.variance;
    // |p0 × p1|² = a0 c0 − b² without its cancellation.
    const R x = p.p0[1] * p.p1[2] - p.p0[2] * p.p1[1], y = p.p0[2] * p.p1[0] - p.p0[0] * p.p1[2],
            z = p.p0[0] * p.p1[1] - p.p0[1] * p.p1[0];
    const R before = x * x + y * y + z * z;
    p.determinant = before + blur.variance * (p.a0 + p.c0 + blur.variance);
    const R inverse = S(1) / p.determinant;
    p.conicA = p.c * inverse;
    p.conicB = -p.b * inverse;
    p.conicC = p.a * inverse;
    p.rho = spread<R>(S(1));
    p.isCompensated = R{};
    if (blur.compensates) {
        const R ratio = before * inverse, floor = spread<R>(S(kCompensationFloor));
        p.isCompensated = select(ratio > floor, spread<R>(S(1)), R{});
        p.rho = squareRoot(select(ratio > floor, ratio, floor));
    }
}

} // namespace projection

template <class R>
VERGENCE_HD Projection<R> project(const CameraView<ScalarOf<R>>& view,
                                  const ScreenFilter<ScalarOf<R>>& blur, const RawGaussian<R>& g)
{
    using S = ScalarOf<R>;
    Projection<R> p;
    for (int row = 0; row < 3; ++row) {
        const S* w = view.rotation + 3 * row;
        p.t[row] = w[0] * g.position[0] + w[1] * g.position[1] + w[2] * g.position[2] +
                   view.translation[row];
    }
    projection::shape(view, g, p);
    projection::normal(g, p);
    const R inverseDepth = S(1) / p.t[2];
    const R x = p.t[0] * inverseDepth, y = p.t[1] * inverseDepth;
    p.u = view.fx * x + view.cx;
    p.v = view.fy * y + view.cy;
    p.depth = p.t[2];
    p.slopeX = clampTracked(x, -view.left, view.right, p.freeX);
    p.slopeY = clampTracked(y, -view.top, view.bottom, p.freeY);
    p.j00 = view.fx * inverseDepth;
    p.j02 = -p.j00 * p.slopeX;
    p.j11 = view.fy * inverseDepth;
    p.j12 = -p.j11 * p.slopeY;
    projection::conicOf(blur, p);
    p.rawOpacity = S(1) / (S(1) + exponential(-g.opacity));
    R kept = spread<R>(S(1));
    for (int i = 0; i < 3; ++i)
        kept *= select(g.filter > R{}, squareRoot(p.scale2[i] / p.smooth2[i]), spread<R>(S(1)));
    p.filteredOpacity = p.rawOpacity * kept;
    p.opacity = p.filteredOpacity * p.rho;
    return p;
}

/// Gradients of the loss with respect to what is blended.
template <class R>
struct SplatGradient {
    R u, v, conicA, conicB, conicC, opacity, depth, normal[3];
};

/// Gradients with respect to the stored parameters, without those of the colour.
template <class R>
struct RawGradient {
    R position[3], logScale[3], rotation[4], opacity;
};

namespace projection {

/// To the blurred covariance; `b` is the single off-diagonal number.
template <class R>
struct CovarianceGradient {
    R a, b, c;
};

template <class R>
VERGENCE_HD CovarianceGradient<R> covarianceBackward(const Projection<R>& p,
                                                     const SplatGradient<R>& g)
{
    using S = ScalarOf<R>;
    const R inverse = S(1) / p.determinant;
    const R a = p.a * inverse, b = p.b * inverse, c = p.c * inverse;
    CovarianceGradient<R> out;
    out.a = -c * c * g.conicA + b * c * g.conicB - b * b * g.conicC;
    out.c = -b * b * g.conicA + a * b * g.conicB - a * a * g.conicC;
    out.b = S(2) * (b * c * g.conicA + a * b * g.conicC) - (a * c + b * b) * g.conicB;
    const R rho2 = p.rho * p.rho;
    const R gradRho = p.isCompensated * g.opacity * p.filteredOpacity * inverse / p.rho;
    out.a += S(0.5) * gradRho * (p.c0 - rho2 * p.c);
    out.c += S(0.5) * gradRho * (p.a0 - rho2 * p.a);
    out.b -= gradRho * p.b * (S(1) - rho2);
    return out;
}

/// To the camera position of the mean, beside what reaches it through the colour.
template <class R>
VERGENCE_HD void positionBackward(const CameraView<ScalarOf<R>>& view, const Projection<R>& p,
                                  const SplatGradient<R>& g, const R* gradP0, const R* gradP1,
                                  R* gradPosition)
{
    using S = ScalarOf<R>;
    const R g00 = dot3(gradP0, p.n), g02 = dot3(gradP0, p.n + 6), g11 = dot3(gradP1, p.n + 3),
            g12 = dot3(gradP1, p.n + 6);
    const R inverse = S(1) / p.t[2];
    R t[3];
    t[0] = p.j00 * g.u - p.freeX * p.j00 * inverse * g02;
    t[1] = p.j11 * g.v - p.freeY * p.j11 * inverse * g12;
    // A clamped slope keeps J02 proportional to 1/tz, a free one to tx/tz².
    t[2] = g.depth - inverse * (p.j00 * (p.t[0] * g.u + g00) + p.j11 * (p.t[1] * g.v + g11) +
                                (S(1) + p.freeX) * p.j02 * g02 + (S(1) + p.freeY) * p.j12 * g12);
    for (int k = 0; k < 3; ++k)
        gradPosition[k] =
            view.rotation[k] * t[0] + view.rotation[3 + k] * t[1] + view.rotation[6 + k] * t[2];
}

} // namespace projection

/// The derivative of project(); overwrites all of `out`.
template <class R>
VERGENCE_HD void projectBackward(const CameraView<ScalarOf<R>>& view, const RawGaussian<R>& raw,
                                 const Projection<R>& p, const SplatGradient<R>& g,
                                 RawGradient<R>& out)
{
    using S = ScalarOf<R>;
    const projection::CovarianceGradient<R> cov = projection::covarianceBackward(p, g);
    R gradP0[3], gradP1[3];
    for (int i = 0; i < 3; ++i) {
        gradP0[i] = S(2) * cov.a * p.p0[i] + cov.b * p.p1[i];
        gradP1[i] = cov.b * p.p0[i] + S(2) * cov.c * p.p1[i];
    }
    projection::positionBackward(view, p, g, gradP0, gradP1, out.position);
    const R gradFiltered = g.opacity * p.rho, ownOpacity = gradFiltered * p.filteredOpacity;
    R gradCamera[9]; // of W R
    for (int i = 0; i < 3; ++i) {
        const R n[3] = {p.j00 * gradP0[i], p.j11 * gradP1[i],
                        p.j02 * gradP0[i] + p.j12 * gradP1[i]};
        R gradSmooth = R{};
        for (int row = 0; row < 3; ++row) {
            gradSmooth += p.camera[3 * row + i] * n[row];
            gradCamera[3 * row + i] =
                p.smooth[i] * n[row] + p.pick[i] * p.normalSign * g.normal[row];
        }
        out.logScale[i] = gradSmooth * p.scale2[i] / p.smooth[i] +
                          ownOpacity * (raw.filter * raw.filter) / p.smooth2[i];
    }
    R gradRotation[9];
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 3; ++i)
            gradRotation[3 * k + i] = view.rotation[k] * gradCamera[i] +
                                      view.rotation[3 + k] * gradCamera[3 + i] +
                                      view.rotation[6 + k] * gradCamera[6 + i];
    }
    rotationBackward(p.quaternion, p.inverseNorm, gradRotation, out.rotation);
    out.opacity = ownOpacity * (S(1) - p.rawOpacity);
}

/// σ of the 3D smoothing filter for a pixel that is `footprint` = z/focal wide at the Gaussian.
/// Source: Mip-Splatting (2023), equation 7 with s = 0.2.
template <class S>
VERGENCE_HD S smoothingSigma(S footprint)
{
    return S(0.44721359549995794) * footprint;
}

} // namespace vergence::sugar
