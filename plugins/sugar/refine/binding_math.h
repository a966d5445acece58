#pragma once

#include "plugins/sugar/refine/vec3.h"

namespace vergence::sugar {

// A Gaussian that lies on a triangle v0 v1 v2, and the derivative of exactly that.
// Source: SuGaR (2024), section 4.3.
//
// m = (v1 − v0) × (v2 − v0), n = m/|m|, e = v0 − v1, b1 = e/|e|, b2 = n × b1; with the unit complex
// number C + iS = (c + id)/|c + id| the axes are R = [n, C b1 + S b2, C b2 − S b1]. A triangle
// without area has no normal: its axes are 0 and it hands on no gradient.

/// 1/x, 0 for 0.
template <class Real>
VERGENCE_HD Real inverseOrZero(Real x)
{
    return x > Real(0) ? Real(1) / x : Real(0);
}

template <class Real>
struct TriangleFrame {
    Vec3<Real> side1, side2;          ///< v1 − v0, v2 − v0
    Vec3<Real> normal, along, across; ///< n, b1, b2
    Real inverseArea, inverseEdge;    ///< 1/|m|, 1/|e|; 0 where that is none

    TriangleFrame() = default;
    VERGENCE_HD TriangleFrame(const Vec3<Real>& v0, const Vec3<Real>& v1, const Vec3<Real>& v2)
        : side1(v1 - v0),
          side2(v2 - v0)
    {
        const Vec3<Real> m = cross(side1, side2);
        inverseArea = inverseOrZero(length(m));
        inverseEdge = inverseOrZero(length(side1));
        normal = inverseArea * m;
        along = -inverseEdge * side1;
        across = cross(normal, along);
    }
};

/// Gradients of a triangle's frame, summed over what uses it.
template <class Real>
struct FrameGradient {
    Vec3<Real> normal, along, across;
};

/// Gradients of the three corners.
template <class Real>
struct CornerGradient {
    Vec3<Real> corner[3];
};

/// Adds what a gradient of the normal alone gives the corners.
template <class Real>
VERGENCE_HD void normalBackward(const TriangleFrame<Real>& frame, const Vec3<Real>& gradNormal,
                                CornerGradient<Real>& grad)
{
    const Vec3<Real> gradM =
        frame.inverseArea * (gradNormal - inner(gradNormal, frame.normal) * frame.normal);
    const Vec3<Real> grad1 = cross(frame.side2, gradM), grad2 = cross(gradM, frame.side1);
    grad.corner[0] = grad.corner[0] - grad1 - grad2;
    grad.corner[1] = grad.corner[1] + grad1;
    grad.corner[2] = grad.corner[2] + grad2;
}

/// Adds what the gradients of all three axes give the corners.
template <class Real>
VERGENCE_HD void frameBackward(const TriangleFrame<Real>& frame, const FrameGradient<Real>& g,
                               CornerGradient<Real>& grad)
{
    const Vec3<Real> gradNormal = g.normal + cross(frame.along, g.across);
    const Vec3<Real> gradAlong = g.along + cross(g.across, frame.normal);
    const Vec3<Real> gradEdge =
        frame.inverseEdge * (gradAlong - inner(gradAlong, frame.along) * frame.along);
    grad.corner[0] = grad.corner[0] + gradEdge;
    grad.corner[1] = grad.corner[1] - gradEdge;
    normalBackward(frame, gradNormal, grad);
}

/// The axes of one Gaussian of a triangle.
template <class Real>
struct BoundAxes {
    Real cosine, sine, inverseLength; ///< of c + id
    Vec3<Real> axis[3];               ///< columns of R

    VERGENCE_HD BoundAxes(const TriangleFrame<Real>& frame, Real c, Real d)
    {
        inverseLength = inverseOrZero(std::sqrt(c * c + d * d));
        cosine = c * inverseLength;
        sine = d * inverseLength;
        axis[0] = frame.normal;
        axis[1] = cosine * frame.along + sine * frame.across;
        axis[2] = cosine * frame.across - sine * frame.along;
    }

    /// g: ∂L/∂R, columns. Adds to the frame; overwrites gradTurn = ∂L/∂(c, d).
    VERGENCE_HD void backward(const TriangleFrame<Real>& frame, const Vec3<Real>* g,
                              FrameGradient<Real>& grad, Real* gradTurn) const
    {
        grad.normal = grad.normal + g[0];
        grad.along = grad.along + (cosine * g[1] - sine * g[2]);
        grad.across = grad.across + (sine * g[1] + cosine * g[2]);
        const Real gradCosine = inner(frame.along, g[1]) + inner(frame.across, g[2]);
        const Real gradSine = inner(frame.across, g[1]) - inner(frame.along, g[2]);
        const Real radial = gradCosine * cosine + gradSine * sine;
        gradTurn[0] = (gradCosine - radial * cosine) * inverseLength;
        gradTurn[1] = (gradSine - radial * sine) * inverseLength;
    }
};

/// Unit quaternion w x y z of a rotation with the given columns; the identity where they are none.
/// Source: Quaternion from rotation matrix (Shepperd, 1978).
template <class Real>
VERGENCE_HD void quaternionOf(const Vec3<Real>* column, Real* q)
{
    const Real m00 = column[0].x, m11 = column[1].y, m22 = column[2].z;
    const Real x = column[1].z - column[2].y, y = column[2].x - column[0].z,
               z = column[0].y - column[1].x;
    const Real xy = column[1].x + column[0].y, xz = column[2].x + column[0].z,
               yz = column[2].y + column[1].z;
    const Real one = Real(1), trace = m00 + m11 + m22;
    if (trace >= m00 && trace >= m11 && trace >= m22) {
        q[0] = one + trace, q[1] = x, q[2] = y, q[3] = z;
    } else if (m00 >= m11 && m00 >= m22) {
        q[0] = x, q[1] = one + m00 - m11 - m22, q[2] = xy, q[3] = xz;
    } else if (m11 >= m22) {
        q[0] = y, q[1] = xy, q[2] = one - m00 + m11 - m22, q[3] = yz;
    } else {
        q[0] = z, q[1] = xz, q[2] = yz, q[3] = one - m00 - m11 + m22;
    }
    const Real norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const Real scale = inverseOrZero(norm);
    for (int i = 0; i < 4; ++i)
        q[i] *= scale;
    q[0] = scale > Real(0) ? q[0] : one;
}

/// A gradient ∂L/∂R (columns) of a rotation that has the given unit quaternion, from ∂L/∂q: of all
/// matrices the one that is tangent to the rotations, ½ [ω]× R with ω = ∂L/∂(turn about the world's
/// axes). Exact wherever R stays a rotation.
template <class Real>
VERGENCE_HD void rotationGradient(const Vec3<Real>* column, const Real* q, const Real* gradQ,
                                  Vec3<Real>* gradColumn)
{
    const Vec3<Real> v{q[1], q[2], q[3]}, g{gradQ[1], gradQ[2], gradQ[3]};
    const Vec3<Real> turn = Real(0.5) * (q[0] * g - gradQ[0] * v + cross(v, g));
    for (int i = 0; i < 3; ++i)
        gradColumn[i] = Real(0.5) * cross(turn, column[i]);
}

} // namespace vergence::sugar
