#pragma once

#include <array>
#include <cstdint>

#include "core/artifact/image.h"
#include "plugins/sugar/io/scene.h"
#include "plugins/sugar/io/scene_writer.h"

namespace vergence::sugar {

/// The built-in scene: textured sphere and turned box on a checker floor, metres, z up. 24 training
/// views on two rings and 4 test views.
struct SyntheticSettings {
    int width = 160, height = 120;
    bool gloss = false; ///< a highlight on the sphere, so that higher harmonics have work
    std::uint64_t seed = 1;
};

/// Views carry names "train_00.png" … "test_03.png"; their isTest is set. No file is written.
Scene syntheticScene(const SyntheticSettings& settings = {});

/// Ray-traced picture of a camera: 3×3 samples a pixel, rounded to 8 bits.
Image syntheticPicture(const Camera& camera, bool gloss = false);

/// What a ray meets: distance along camera z, normal in world axes; depth 0 for the sky.
struct SurfaceHit {
    double depth = 0;
    std::array<double, 3> normal{};
};
SurfaceHit syntheticHit(const Camera& camera, double u, double v);
/// Distance of a point to the nearest surface, metres.
double syntheticDistance(const std::array<double, 3>& point);

} // namespace vergence::sugar
