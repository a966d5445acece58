#pragma once

#include <array>
#include <cmath>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// A point or direction in double.
struct Point3 {
    double x = 0, y = 0, z = 0;

    double operator[](std::size_t axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

inline Point3 operator+(const Point3& a, const Point3& b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
inline Point3 operator-(const Point3& a, const Point3& b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Point3 operator*(double s, const Point3& a)
{
    return {s * a.x, s * a.y, s * a.z};
}
inline double dot(const Point3& a, const Point3& b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
inline Point3 cross(const Point3& a, const Point3& b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm(const Point3& a)
{
    return std::sqrt(dot(a, a));
}
/// Of length 1, or zero where a is.
inline Point3 unit(const Point3& a)
{
    const double length = norm(a);
    return length > 0 ? (1 / length) * a : Point3{};
}

inline Point3 vertexOf(const TriangleMesh& mesh, std::uint32_t v)
{
    const float* p = &mesh.position[3 * static_cast<std::size_t>(v)];
    return {p[0], p[1], p[2]};
}

/// Twice the area of a face along its normal.
inline Point3 faceVector(const TriangleMesh& mesh, std::size_t face)
{
    const std::uint32_t* v = &mesh.triangle[3 * face];
    const Point3 a = vertexOf(mesh, v[0]);
    return cross(vertexOf(mesh, v[1]) - a, vertexOf(mesh, v[2]) - a);
}
inline double faceArea(const TriangleMesh& mesh, std::size_t face)
{
    return 0.5 * norm(faceVector(mesh, face));
}

} // namespace vergence::sugar
