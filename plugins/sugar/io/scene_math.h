#pragma once

#include <array>
#include <cmath>

namespace vergence::sugar {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<double, 9>; ///< row-major

inline double dot(const Vector3& a, const Vector3& b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

inline Vector3 plus(const Vector3& a, const Vector3& b, double factor = 1)
{
    return {a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]};
}

inline double length(const Vector3& a)
{
    return std::sqrt(dot(a, a));
}

inline Vector3 times(const Matrix3& m, const Vector3& a)
{
    return {m[0] * a[0] + m[1] * a[1] + m[2] * a[2], m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
            m[6] * a[0] + m[7] * a[1] + m[8] * a[2]};
}

inline Matrix3 transposed(const Matrix3& m)
{
    return {m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]};
}

/// Rotation of a unit quaternion w x y z.
inline Matrix3 rotationOf(const std::array<double, 4>& q)
{
    const auto [w, x, y, z] = q;
    return {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
            2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
}

/// Unit quaternion of a rotation, w x y z with w ≥ 0: from the largest of the four, so that no
/// digits are lost.
inline std::array<double, 4> quaternionOf(const Matrix3& r)
{
    const std::array<double, 4> squares{1 + r[0] + r[4] + r[8], 1 + r[0] - r[4] - r[8],
                                        1 - r[0] + r[4] - r[8], 1 - r[0] - r[4] + r[8]};
    std::size_t largest = 0;
    for (std::size_t i = 1; i < 4; ++i) {
        if (squares[i] > squares[largest])
            largest = i;
    }
    const std::array<std::array<double, 4>, 4> rows{
        {{squares[0], r[7] - r[5], r[2] - r[6], r[3] - r[1]},
         {r[7] - r[5], squares[1], r[1] + r[3], r[2] + r[6]},
         {r[2] - r[6], r[1] + r[3], squares[2], r[5] + r[7]},
         {r[3] - r[1], r[2] + r[6], r[5] + r[7], squares[3]}}};
    std::array<double, 4> q = rows[largest];
    const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const double sign = q[0] < 0 ? -1 : 1;
    for (double& value : q)
        value *= sign / norm;
    return q;
}

} // namespace vergence::sugar
