#pragma once

#include "plugins/light_field/compute/operator_tables.h"
#include "plugins/light_field/compute/scene_math.h"

namespace vergence::light_field {

/// Colour and vergence (dioptres; the background at 0) of every ray of one state, [M, W, W,
/// channels] and [M, W, W].
struct SampleArguments {
    SceneView scene;
    EyeState eye;
    const RaySample* samples = nullptr;
    int sampleCount = 0, resolution = 0, channels = 3;
    double slopeExtent = 0;
    float* color = nullptr;
    float* vergence = nullptr;
};

/// Adds the rays of one state to the weighted colours [K, R, R, channels] and weights [K, R, R] of
/// the texels.
struct SplatArguments {
    TableView<float> tables;
    InvertedView<float> columns, lines;
    int state = 0, channels = 3;
    const float* color = nullptr;
    const float* vergence = nullptr;
    const float* planeVergence = nullptr; ///< [K], ascending or descending in k
    float* weightedColor = nullptr;
    float* weight = nullptr;
};

/// planes[texel, firstLane + c] = clamp(gain · weighted colour / weight).
struct NormaliseArguments {
    Index texels = 0;
    int channels = 3, lanes = 4, firstLane = 0;
    float gain = 1;
    const float* weightedColor = nullptr;
    const float* weight = nullptr;
    float* planes = nullptr;
};

inline const Kernel<void(const SampleArguments&)> sampleSceneKernel{"light_field.direct.sample"};
inline const Kernel<void(const SplatArguments&)> splatKernel{"light_field.direct.splat"};
inline const Kernel<void(const NormaliseArguments&)> normaliseSplatKernel{
    "light_field.direct.normalise"};

} // namespace vergence::light_field
