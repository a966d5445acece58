#pragma once

#include <cmath>

#include "core/compute/host_device.h"

namespace vergence::sugar {

/// Three numbers in space, on either side.
template <class Real>
struct Vec3 {
    Real x = 0, y = 0, z = 0;

    VERGENCE_HD static Vec3 at(const Real* p) { return {p[0], p[1], p[2]}; }
    VERGENCE_HD void store(Real* p) const
    {
        p[0] = x;
        p[1] = y;
        p[2] = z;
    }
};

template <class Real>
VERGENCE_HD Vec3<Real> operator+(const Vec3<Real>& a, const Vec3<Real>& b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class Real>
VERGENCE_HD Vec3<Real> operator-(const Vec3<Real>& a, const Vec3<Real>& b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class Real>
VERGENCE_HD Vec3<Real> operator*(Real s, const Vec3<Real>& a)
{
    return {s * a.x, s * a.y, s * a.z};
}
template <class Real>
VERGENCE_HD Real inner(const Vec3<Real>& a, const Vec3<Real>& b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class Real>
VERGENCE_HD Vec3<Real> cross(const Vec3<Real>& a, const Vec3<Real>& b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class Real>
VERGENCE_HD Real length(const Vec3<Real>& a)
{
    return std::sqrt(inner(a, a));
}

} // namespace vergence::sugar
