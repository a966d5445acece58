#pragma once

#include <cmath>

#include "core/compute/host_device.h"

namespace vergence::light_field {

/// The optics of the seed profile in float. The order of operations is part of the profile: which
/// lenslet and texel a ray meets depends on rounding. Lens deflections are added to unit vectors,
/// as the seed does. The formulas hold for a number and for a vector of numbers (`V`); `math` gives
/// the functions that a vector has no operator for.
struct SeedOptics {
    float retinaDistance = 24, retinaSize = 40;
    float eyeFocal = 30;
    float tunableZ = 50, lensletZ = 80, panelZ = 82;
    float lensletPitch = 0.4f, lensletFocal = 1;
    float panelSize = 20;
    int panelResolution = 1024;
    int resolution = 512;
};

template <class V>
struct SeedRay {
    V origin[3];
    V direction[3];
};

/// Functions of one number. A vector's are correctly rounded too, so that both give the same bits.
struct ScalarMath {
    VERGENCE_HD float root(float value) const { return std::sqrt(value); }
    VERGENCE_HD float nearest(float value) const { return std::rint(value); }
    VERGENCE_HD float truncated(float value) const { return std::trunc(value); }
};

template <class V, class Math>
VERGENCE_HD void normalise(V (&v)[3], const Math& math)
{
    const V length = math.root(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (V& component : v)
        component = component / length;
}

template <class V>
VERGENCE_HD void moveToZ(SeedRay<V>& ray, float z)
{
    const V t = (z - ray.origin[2]) / ray.direction[2];
    for (int axis = 0; axis < 3; ++axis)
        ray.origin[axis] = ray.origin[axis] + t * ray.direction[axis];
}

/// Ray of a pixel behind the eye lens; `column` holds whole numbers, the pupil position is in mm.
template <class V, class Math>
VERGENCE_HD SeedRay<V> seedEyeRay(const SeedOptics& o, int row, const V& column, float pupilX,
                                  float pupilY, const Math& math)
{
    const V zero{};
    const float step = o.retinaSize / static_cast<float>(o.resolution - 1);
    const V retinaX = -o.retinaSize / 2 + step * column;
    const float retinaY = -o.retinaSize / 2 + step * static_cast<float>(row);
    SeedRay<V> ray{{zero + pupilX, zero + pupilY, zero},
                   {pupilX - retinaX, zero + (pupilY - retinaY), zero + o.retinaDistance}};
    normalise(ray.direction, math);
    ray.direction[0] -= pupilX / o.eyeFocal;
    ray.direction[1] -= pupilY / o.eyeFocal;
    normalise(ray.direction, math);
    return ray;
}

/// Texel row · R + column that a ray behind the eye lens meets with the tunable lens at `focal`, or
/// −1. A float holds the number exactly up to R = 4096.
template <class V, class Math>
VERGENCE_HD V seedTexel(const SeedOptics& o, SeedRay<V> ray, float focal, const Math& math)
{
    const V zero{}, one = zero + 1.0f;
    moveToZ(ray, o.tunableZ);
    ray.direction[0] -= ray.origin[0] / focal;
    ray.direction[1] -= ray.origin[1] / focal;
    normalise(ray.direction, math);
    moveToZ(ray, o.lensletZ);
    const V localX = ray.origin[0] - math.nearest(ray.origin[0] / o.lensletPitch) * o.lensletPitch;
    const V localY = ray.origin[1] - math.nearest(ray.origin[1] / o.lensletPitch) * o.lensletPitch;
    const V distance = math.root(localX * localX + localY * localY);
    ray.direction[0] -= localX / o.lensletFocal;
    ray.direction[1] -= localY / o.lensletFocal;
    normalise(ray.direction, math);
    moveToZ(ray, o.panelZ);
    const V u = (ray.origin[0] + o.panelSize / 2) / o.panelSize;
    const V v = (ray.origin[1] + o.panelSize / 2) / o.panelSize;
    const float last = static_cast<float>(o.panelResolution - 1);
    const V texel =
        math.truncated(v * last) * static_cast<float>(o.panelResolution) + math.truncated(u * last);
    const auto arrives = (distance <= zero + o.lensletPitch / 2) & (u >= zero) & (u <= one) &
                         (v >= zero) & (v <= one);
    return arrives ? texel : zero - 1.0f;
}

} // namespace vergence::light_field
