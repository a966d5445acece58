#pragma once

#include <optional>

#include "plugins/sugar/io/scene_math.h"

namespace vergence::sugar {

/// Where a ray meets the built-in scene.
struct RayHit {
    double distance = 0; ///< along the ray, in lengths of its direction
    Vector3 point{};
    Vector3 normal{}; ///< outward, unit
    Vector3 albedo{}; ///< red green blue, 0 to 1
    bool isSphere = false;
};

/// The nearest surface in front of `origin`; nothing for the sky.
std::optional<RayHit> traceSynthetic(const Vector3& origin, const Vector3& direction);
/// Colour towards a viewer in the direction −`direction` (unit).
Vector3 shadeSynthetic(const RayHit& hit, const Vector3& direction, bool gloss);

constexpr Vector3 kSyntheticSky{.62, .72, .85};

/// A point of the surfaces that cameras can see, uniform by area, from three numbers in [0, 1).
RayHit syntheticSurfacePoint(double which, double a, double b);

} // namespace vergence::sugar
