#pragma once

#include "core/compute/kernel.h"
#include "plugins/sugar/compute/alignment/depth_normal_math.h"

namespace vergence::sugar {

struct DepthNormalArguments {
    Index height = 0, width = 0;
    PixelRays<float> rays{};
    const float *depth = nullptr, *transmittance = nullptr, *normal = nullptr;  ///< as rendered
    bool isSummed = false;                                                      ///< the other term
    double weight = 0;                                                          ///< of the mean
    float* expected = nullptr;                                                  ///< scratch: [H, W]
    DepthNormalGradient<float>* gradients = nullptr;                            ///< scratch: [H, W]
    float* values = nullptr;                                                    ///< scratch: [H, W]
    float *gradDepth = nullptr, *gradCoverage = nullptr, *gradNormal = nullptr; ///< overwritten
    double* mean = nullptr; ///< on the host: of the pixels that count
    Index* count = nullptr; ///< on the host: how many do
};
/// Waits for the stream.
inline const Kernel<void(const DepthNormalArguments&)> depthNormalGradient{
    "sugar.depth_normal_gradient"};

} // namespace vergence::sugar
