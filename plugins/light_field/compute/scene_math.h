#pragma once

#include <cmath>

#include "core/compute/host_device.h"

namespace vergence::light_field {

enum class PrimitiveKind : int { Sphere, Cube };
enum class Texture : int { Plain, CheckerSeed, CheckerEqualAngle, LetterA, LetterB, LetterC };

/// A sphere (size = radius) or an axis-aligned cube (size = edge length). Lengths in mm.
struct Primitive {
    PrimitiveKind kind = PrimitiveKind::Sphere;
    Texture texture = Texture::Plain;
    double center[3] = {0, 0, 0};
    double size = 1;
    float color[3] = {1, 1, 1}; ///< linear light
    double textureScale = 1;    ///< cell size s, number of cells n, or repetitions of a letter
};

/// A scene as kernels see it.
struct SceneView {
    const Primitive* primitives = nullptr;
    int count = 0;
    const float* color = nullptr;        ///< [height, width, 3] of the height field, or null
    const float* inverseDepth = nullptr; ///< [height, width], 1/mm; 0 = nothing there
    int width = 0, height = 0;
    double slopeExtent = 0;
    double inverseNear = 0, inverseFar = 0; ///< range of the height field, 1/mm
    float background[3] = {0, 0, 0};
    bool lambert = false;
};

/// A ray; positions are origin + t · direction.
template <class Real>
struct Ray {
    Real origin[3];
    Real direction[3];
};

/// Nearest hit of a ray.
template <class Real>
struct Hit {
    bool isHit = false;
    Real t = 0;
    float color[3] = {0, 0, 0};
};

namespace scene_detail {

template <class Real>
inline constexpr Real kPi = Real(3.14159265358979323846);
template <class Real>
inline constexpr Real
    kNearest = Real(1e-6); ///< hits nearer than this along the ray are the ray's own origin

template <class Real>
VERGENCE_HD Real fraction(Real value)
{
    return value - std::floor(value);
}

/// Smallest root above kNearest, or a negative number.
template <class Real>
VERGENCE_HD Real sphereHit(const Primitive& sphere, const Ray<Real>& ray)
{
    Real a = 0, b = 0, c = -Real(sphere.size) * Real(sphere.size);
    for (int axis = 0; axis < 3; ++axis) {
        const Real offset = ray.origin[axis] - Real(sphere.center[axis]);
        a += ray.direction[axis] * ray.direction[axis];
        b += 2 * offset * ray.direction[axis];
        c += offset * offset;
    }
    const Real discriminant = b * b - 4 * a * c;
    if (discriminant < 0)
        return -1;
    const Real root = std::sqrt(discriminant);
    const Real first = (-b - root) / (2 * a);
    if (first > kNearest<Real>)
        return first;
    const Real second = (-b + root) / (2 * a);
    return second > kNearest<Real> ? second : Real(-1);
}

/// The same by slabs; `axisHit` is the axis of the face. A direction component of 0 only asks
/// whether the ray lies between.
template <class Real>
VERGENCE_HD Real cubeHit(const Primitive& cube, const Ray<Real>& ray, int& axisHit)
{
    Real enter = -Real(1e30), leave = Real(1e30);
    int enterAxis = 0, leaveAxis = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const Real low = Real(cube.center[axis] - cube.size / 2) - ray.origin[axis];
        const Real high = Real(cube.center[axis] + cube.size / 2) - ray.origin[axis];
        const Real d = ray.direction[axis];
        if (d == 0) {
            if (low > 0 || high < 0)
                return -1;
            continue;
        }
        const Real first = (d > 0 ? low : high) / d, second = (d > 0 ? high : low) / d;
        if (first > enter) {
            enter = first;
            enterAxis = axis;
        }
        if (second < leave) {
            leave = second;
            leaveAxis = axis;
        }
    }
    if (enter > leave)
        return -1;
    const bool outside = enter > kNearest<Real>;
    axisHit = outside ? enterAxis : leaveAxis;
    const Real t = outside ? enter : leave;
    return t > kNearest<Real> ? t : Real(-1);
}

/// Whether the checkerboard is white at the outward unit normal (x, y, z). Poles at ±y.
template <class Real>
VERGENCE_HD bool checkerIsWhite(Texture texture, Real scale, Real x, Real y, Real z)
{
    const Real longitude = std::atan2(z, x), latitude = std::atan2(y, std::sqrt(x * x + z * z));
    const Real pi = kPi<Real>;
    Real row, column;
    if (texture == Texture::CheckerSeed) {
        row = std::floor((latitude + pi / 2) / pi * Real(999) / scale);
        column = std::floor((longitude + pi) / (2 * pi) * Real(999) / scale);
    } else {
        row = std::floor(scale * (latitude / pi + Real(0.5)));
        column = std::floor(2 * scale * (longitude / (2 * pi) + Real(0.5)));
    }
    return (static_cast<int>(row) + static_cast<int>(column)) % 2 != 0;
}

/// Whether the letter texture is white at the hit relative to the centre of a sphere of radius
/// `radius`.
template <class Real>
VERGENCE_HD bool letterIsWhite(Texture texture, Real scale, Real radius, Real x, Real y, Real z)
{
    const Real pi = kPi<Real>;
    const Real height = y / radius;
    const Real clamped = height < -1 ? Real(-1) : height > 1 ? Real(1) : height;
    const Real u = fraction((std::atan2(z, x) / (2 * pi) + Real(0.5)) * scale);
    const Real v = fraction(std::acos(clamped) / pi * scale);
    const Real half = Real(0.5), thin = Real(0.1), wide = Real(0.2);
    if (texture == Texture::LetterA) {
        return std::abs(u - half) < thin || std::abs(v - half) < thin || std::abs(u - v) < thin ||
               std::abs(u + v - 1) < thin;
    }
    if (texture == Texture::LetterB)
        return u < wide || v < wide || v > 1 - wide || std::abs(v - half) < thin;
    return u < thin || v < thin;
}

template <class Real>
VERGENCE_HD void shade(const Primitive& primitive, const Ray<Real>& ray, int axisHit, bool lambert,
                       Hit<Real>& hit)
{
    Real normal[3] = {0, 0, 0}, relative[3];
    Real length = 0;
    for (int axis = 0; axis < 3; ++axis) {
        relative[axis] =
            ray.origin[axis] + hit.t * ray.direction[axis] - Real(primitive.center[axis]);
        length += relative[axis] * relative[axis];
        hit.color[axis] = primitive.color[axis];
    }
    length = std::sqrt(length);
    for (int axis = 0; axis < 3; ++axis)
        normal[axis] = primitive.kind == PrimitiveKind::Sphere ? relative[axis] / length
                                                               : Real(axis == axisHit);
    if (primitive.texture == Texture::CheckerSeed ||
        primitive.texture == Texture::CheckerEqualAngle) {
        const float value = checkerIsWhite(primitive.texture, Real(primitive.textureScale),
                                           normal[0], normal[1], normal[2])
                                ? 1.0f
                                : 0.0f;
        for (int axis = 0; axis < 3; ++axis)
            hit.color[axis] *= value;
    } else if (primitive.texture != Texture::Plain &&
               letterIsWhite(primitive.texture, Real(primitive.textureScale), Real(primitive.size),
                             relative[0], relative[1], relative[2])) {
        for (int axis = 0; axis < 3; ++axis)
            hit.color[axis] = 1.0f;
    }
    if (lambert) {
        Real cosine = 0, squared = 0;
        for (int axis = 0; axis < 3; ++axis) {
            cosine += normal[axis] * ray.direction[axis];
            squared += ray.direction[axis] * ray.direction[axis];
        }
        const float light = static_cast<float>(std::abs(cosine) / std::sqrt(squared));
        for (int axis = 0; axis < 3; ++axis)
            hit.color[axis] *= light;
    }
}

/// Position in the picture: column and row with pixel centres at whole numbers, for slopes (tx, ty)
/// seen from the origin.
template <class Real>
struct PicturePoint {
    Real column, row;
};

template <class Real>
VERGENCE_HD PicturePoint<Real> picturePoint(const SceneView& scene, Real tx, Real ty)
{
    const Real perSlope = scene.width / (2 * Real(scene.slopeExtent));
    return {Real(scene.width) / 2 + tx * perSlope - Real(0.5),
            Real(scene.height) / 2 - ty * perSlope - Real(0.5)};
}

/// 1/z of the height field between four pixels; 0 outside the picture or beside a pixel without a
/// surface.
template <class Real>
VERGENCE_HD Real surfaceInverseDepth(const SceneView& scene, PicturePoint<Real> at)
{
    if (at.column < Real(-0.5) || at.row < Real(-0.5) || at.column > scene.width - Real(0.5) ||
        at.row > scene.height - Real(0.5))
        return 0;
    const Real column = at.column < 0 ? Real(0) : at.column, row = at.row < 0 ? Real(0) : at.row;
    int c0 = static_cast<int>(column), r0 = static_cast<int>(row);
    c0 = c0 > scene.width - 1 ? scene.width - 1 : c0;
    r0 = r0 > scene.height - 1 ? scene.height - 1 : r0;
    const int c1 = c0 + 1 < scene.width ? c0 + 1 : c0, r1 = r0 + 1 < scene.height ? r0 + 1 : r0;
    const Real a = column - c0 > 1 ? Real(1) : column - c0, b = row - r0 > 1 ? Real(1) : row - r0;
    const Real v00 = scene.inverseDepth[r0 * scene.width + c0],
               v01 = scene.inverseDepth[r0 * scene.width + c1];
    const Real v10 = scene.inverseDepth[r1 * scene.width + c0],
               v11 = scene.inverseDepth[r1 * scene.width + c1];
    if (v00 <= 0 || v01 <= 0 || v10 <= 0 || v11 <= 0)
        return 0;
    return (1 - b) * ((1 - a) * v00 + a * v01) + b * ((1 - a) * v10 + a * v11);
}

/// Height field against a ray with direction z = 1. The slope under which the origin sees a point
/// of the ray is linear in 1/z, so the ray is followed from near to far in half-pixel steps of the
/// picture until it is behind the surface.
template <class Real>
VERGENCE_HD void heightFieldHit(const SceneView& scene, const Ray<Real>& ray, Hit<Real>& hit)
{
    const Real nearQ = Real(scene.inverseNear) * Real(1.001),
               farQ = Real(scene.inverseFar) * Real(0.999);
    const Real perSlope = scene.width / (2 * Real(scene.slopeExtent));
    const Real reach = std::sqrt(ray.origin[0] * ray.origin[0] + ray.origin[1] * ray.origin[1]);
    const int steps = 2 + static_cast<int>(2 * reach * (nearQ - farQ) * perSlope);
    const auto ahead = [&](Real q) {
        const auto at = picturePoint(scene, ray.direction[0] + q * ray.origin[0],
                                     ray.direction[1] + q * ray.origin[1]);
        const Real surface = surfaceInverseDepth(scene, at);
        return surface > 0 ? q - surface : q;
    };
    Real front = nearQ;
    for (int step = 1; step <= steps; ++step) {
        Real behind = nearQ + (farQ - nearQ) * Real(step) / Real(steps);
        if (ahead(behind) > 0) {
            front = behind;
            continue;
        }
        for (int halving = 0; halving < 24; ++halving) {
            const Real middle = (front + behind) / 2;
            (ahead(middle) > 0 ? front : behind) = middle;
        }
        const auto at = picturePoint(scene, ray.direction[0] + behind * ray.origin[0],
                                     ray.direction[1] + behind * ray.origin[1]);
        const int column = static_cast<int>(std::floor(at.column + Real(0.5)));
        const int row = static_cast<int>(std::floor(at.row + Real(0.5)));
        const int c = column < 0 ? 0 : column > scene.width - 1 ? scene.width - 1 : column;
        const int r = row < 0 ? 0 : row > scene.height - 1 ? scene.height - 1 : row;
        hit.isHit = true;
        hit.t = 1 / behind;
        for (int channel = 0; channel < 3; ++channel)
            hit.color[channel] = scene.color[(r * scene.width + c) * 3 + channel];
        return;
    }
}

} // namespace scene_detail

/// Nearest hit of a ray with the scene. The height field needs rays whose direction has z = 1 and
/// whose origin has z = 0.
template <class Real>
VERGENCE_HD Hit<Real> intersect(const SceneView& scene, const Ray<Real>& ray)
{
    Hit<Real> hit;
    int nearest = -1, axisHit = 0;
    for (int i = 0; i < scene.count; ++i) {
        const Primitive& primitive = scene.primitives[i];
        int axis = 0;
        const Real t = primitive.kind == PrimitiveKind::Sphere
                           ? scene_detail::sphereHit(primitive, ray)
                           : scene_detail::cubeHit(primitive, ray, axis);
        if (t > 0 && (nearest < 0 || t < hit.t)) {
            nearest = i;
            hit.t = t;
            axisHit = axis;
        }
    }
    if (nearest >= 0) {
        hit.isHit = true;
        scene_detail::shade(scene.primitives[nearest], ray, axisHit, scene.lambert, hit);
    } else if (scene.color) {
        scene_detail::heightFieldHit(scene, ray, hit);
    }
    return hit;
}

} // namespace vergence::light_field
