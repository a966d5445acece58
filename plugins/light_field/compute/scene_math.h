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

/// A point of a surface, as textures and the head lamp need it.
template <class Real>
struct SurfacePoint {
    Real relative[3]; ///< from the centre of the primitive, mm
    Real normal[3];
    Real longitude, latitude; ///< of the normal, poles at ±y; only where a checkerboard is painted
};

template <class Real>
VERGENCE_HD void measureAngles(SurfacePoint<Real>& point)
{
    const Real x = point.normal[0], y = point.normal[1], z = point.normal[2];
    point.longitude = std::atan2(z, x);
    point.latitude = std::atan2(y, std::sqrt(x * x + z * z));
}

/// Whether the checkerboard is white.
template <class Real>
VERGENCE_HD bool checkerIsWhite(Texture texture, Real scale, Real longitude, Real latitude)
{
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

VERGENCE_HD bool isChecker(Texture texture)
{
    return texture == Texture::CheckerSeed || texture == Texture::CheckerEqualAngle;
}

template <class Real>
VERGENCE_HD SurfacePoint<Real> surfaceAt(const Primitive& primitive, const Ray<Real>& ray, Real t,
                                         int axisHit)
{
    SurfacePoint<Real> point;
    Real length = 0;
    for (int axis = 0; axis < 3; ++axis) {
        point.relative[axis] =
            ray.origin[axis] + t * ray.direction[axis] - Real(primitive.center[axis]);
        length += point.relative[axis] * point.relative[axis];
    }
    length = std::sqrt(length);
    for (int axis = 0; axis < 3; ++axis) {
        point.normal[axis] = primitive.kind == PrimitiveKind::Sphere ? point.relative[axis] / length
                                                                     : Real(axis == axisHit);
    }
    if (isChecker(primitive.texture))
        measureAngles(point);
    return point;
}

/// Colour of the surface without light.
template <class Real>
VERGENCE_HD void paint(const Primitive& primitive, const SurfacePoint<Real>& point, float* rgb)
{
    float value = 1.0f;
    bool white = false;
    const Real scale = Real(primitive.textureScale);
    if (isChecker(primitive.texture)) {
        value =
            checkerIsWhite(primitive.texture, scale, point.longitude, point.latitude) ? 1.0f : 0.0f;
    } else if (primitive.texture != Texture::Plain) {
        white = letterIsWhite(primitive.texture, scale, Real(primitive.size), point.relative[0],
                              point.relative[1], point.relative[2]);
    }
    for (int channel = 0; channel < 3; ++channel)
        rgb[channel] = white ? 1.0f : primitive.color[channel] * value;
}

/// Light of a lamp at the head on the surface; 1 where there is none.
template <class Real>
VERGENCE_HD float lightOn(const SurfacePoint<Real>& point, const Ray<Real>& ray, bool lambert)
{
    if (!lambert)
        return 1.0f;
    Real cosine = 0, squared = 0;
    for (int axis = 0; axis < 3; ++axis) {
        cosine += point.normal[axis] * ray.direction[axis];
        squared += ray.direction[axis] * ray.direction[axis];
    }
    return static_cast<float>(std::abs(cosine) / std::sqrt(squared));
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

/// Index of the nearest primitive, or −1; fills `t` and the axis of the face.
template <class Real>
VERGENCE_HD int nearestPrimitive(const SceneView& scene, const Ray<Real>& ray, Real& t,
                                 int& axisHit)
{
    int nearest = -1;
    for (int i = 0; i < scene.count; ++i) {
        const Primitive& primitive = scene.primitives[i];
        int axis = 0;
        const Real candidate = primitive.kind == PrimitiveKind::Sphere
                                   ? scene_detail::sphereHit(primitive, ray)
                                   : scene_detail::cubeHit(primitive, ray, axis);
        if (candidate > 0 && (nearest < 0 || candidate < t)) {
            nearest = i;
            t = candidate;
            axisHit = axis;
        }
    }
    return nearest;
}

/// Nearest hit of a ray with the scene. The height field needs rays whose direction has z = 1 and
/// whose origin has z = 0.
template <class Real>
VERGENCE_HD Hit<Real> intersect(const SceneView& scene, const Ray<Real>& ray)
{
    Hit<Real> hit;
    int axisHit = 0;
    const int nearest = nearestPrimitive(scene, ray, hit.t, axisHit);
    if (nearest >= 0) {
        hit.isHit = true;
        const Primitive& primitive = scene.primitives[nearest];
        const auto point = scene_detail::surfaceAt(primitive, ray, hit.t, axisHit);
        scene_detail::paint(primitive, point, hit.color);
        const float light = scene_detail::lightOn(point, ray, scene.lambert);
        for (float& channel : hit.color)
            channel *= light;
    } else if (scene.color) {
        scene_detail::heightFieldHit(scene, ray, hit);
    }
    return hit;
}

} // namespace vergence::light_field
