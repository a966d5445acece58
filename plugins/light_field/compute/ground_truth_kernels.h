#pragma once

#include "core/compute/kernel.h"
#include "plugins/light_field/compute/eye.h"
#include "plugins/light_field/compute/scene_math.h"
#include "plugins/light_field/compute/seed_math.h"

namespace vergence::light_field {

/// Where the renderer writes; all arrays lie on the device.
struct GroundTruthOutput {
    float* radiance = nullptr; ///< [S, W, W, L]
    float* depth = nullptr;    ///< [S, W, W]; null for all scenes but the first
    float* coverage = nullptr; ///< [S, W, W]
    float* roi = nullptr;      ///< [S, W, W]
    int lanes = 1, firstLane = 0, channels = 3;
};

/// More scenes that differ from the first in colours and textures alone, [count, primitives of the
/// first]; each fills one lane after output.firstLane, and output.channels is 1. They share the
/// search for hits.
struct VariantView {
    const Primitive* primitives = nullptr;
    int count = 0;
};

/// Profile P: states [S] and samples [M] lie on the device.
struct GroundTruthArguments {
    SceneView scene;
    const EyeState* states = nullptr;
    const RaySample* samples = nullptr;
    int stateCount = 0, sampleCount = 0, resolution = 0;
    double slopeExtent = 0;
    VariantView variants;
    GroundTruthOutput output;
};

/// Profile S; a sample outside the pupil has NaN coordinates.
struct SeedGroundTruthArguments {
    SceneView scene;
    SeedOptics optics;
    const RaySample* samples = nullptr;
    int sampleCount = 0;
    VariantView variants;
    GroundTruthOutput output;
};

/// Profile P, one eye, spheres and cubes alone; everything lies on the host. CPU only.
struct PreviewArguments {
    SceneView scene;
    EyeState eye;
    const RaySample* samples = nullptr;
    int sampleCount = 0, resolution = 0;
    double slopeExtent = 0;
    float* radiance = nullptr; ///< [W, W, L]
    int lanes = 1, channels = 1;
};

inline const Kernel<void(const PreviewArguments&)> previewKernel{"light_field.previewTarget"};
inline const Kernel<void(const GroundTruthArguments&)> groundTruthKernel{"light_field.groundTruth"};
inline const Kernel<void(const SeedGroundTruthArguments&)> seedGroundTruthKernel{
    "light_field.seedGroundTruth"};

} // namespace vergence::light_field
