#pragma once

#include <cmath>

#include "core/compute/host_device.h"

namespace vergence::light_field {

/// The optics of the seed profile in float. The order of operations is part of the profile: which
/// lenslet and texel a ray meets depends on rounding. Lens deflections are added to unit vectors,
/// as the seed does.
struct SeedOptics {
    float retinaDistance = 24, retinaSize = 40;
    float eyeFocal = 30;
    float tunableZ = 50, lensletZ = 80, panelZ = 82;
    float lensletPitch = 0.4f, lensletFocal = 1;
    float panelSize = 20;
    int panelResolution = 1024;
    int resolution = 512;
};

struct SeedRay {
    float origin[3];
    float direction[3];
};

VERGENCE_HD void normalise(float (&v)[3])
{
    const float length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (float& component : v)
        component = component / length;
}

VERGENCE_HD void moveToZ(SeedRay& ray, float z)
{
    const float t = (z - ray.origin[2]) / ray.direction[2];
    for (int axis = 0; axis < 3; ++axis)
        ray.origin[axis] = ray.origin[axis] + t * ray.direction[axis];
}

/// Ray of a pixel behind the eye lens; pupil position in mm.
VERGENCE_HD SeedRay seedEyeRay(const SeedOptics& o, int row, int column, float pupilX, float pupilY)
{
    const float step = o.retinaSize / static_cast<float>(o.resolution - 1);
    const float retinaX = -o.retinaSize / 2 + step * static_cast<float>(column);
    const float retinaY = -o.retinaSize / 2 + step * static_cast<float>(row);
    SeedRay ray{{pupilX, pupilY, 0}, {pupilX - retinaX, pupilY - retinaY, o.retinaDistance}};
    normalise(ray.direction);
    ray.direction[0] -= pupilX / o.eyeFocal;
    ray.direction[1] -= pupilY / o.eyeFocal;
    normalise(ray.direction);
    return ray;
}

/// Texel row · R + column that a ray behind the eye lens meets with the tunable lens at `focal`, or
/// −1.
VERGENCE_HD int seedTexel(const SeedOptics& o, SeedRay ray, float focal)
{
    moveToZ(ray, o.tunableZ);
    ray.direction[0] -= ray.origin[0] / focal;
    ray.direction[1] -= ray.origin[1] / focal;
    normalise(ray.direction);
    moveToZ(ray, o.lensletZ);
    const float localX = ray.origin[0] - std::rint(ray.origin[0] / o.lensletPitch) * o.lensletPitch;
    const float localY = ray.origin[1] - std::rint(ray.origin[1] / o.lensletPitch) * o.lensletPitch;
    if (!(std::sqrt(localX * localX + localY * localY) <= o.lensletPitch / 2))
        return -1;
    ray.direction[0] -= localX / o.lensletFocal;
    ray.direction[1] -= localY / o.lensletFocal;
    normalise(ray.direction);
    moveToZ(ray, o.panelZ);
    const float u = (ray.origin[0] + o.panelSize / 2) / o.panelSize;
    const float v = (ray.origin[1] + o.panelSize / 2) / o.panelSize;
    if (!(u >= 0 && u <= 1 && v >= 0 && v <= 1))
        return -1;
    const float last = static_cast<float>(o.panelResolution - 1);
    return static_cast<int>(v * last) * o.panelResolution + static_cast<int>(u * last);
}

} // namespace vergence::light_field
