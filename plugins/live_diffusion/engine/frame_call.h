#pragma once

#include <cstdint>
#include <span>

#include "plugins/live_diffusion/diffusion/guidance.h"
#include "plugins/live_diffusion/diffusion/noise.h"
#include "plugins/live_diffusion/diffusion/sampler_math.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

inline constexpr int kMostFrameSteps = 64;

/// What the work of a frame is. Frames of equal plans are the same work on other numbers, so that
/// one recording serves them all.
struct FramePlan {
    int steps = 1;                ///< 1 … kMostFrameSteps
    std::uint64_t noisySteps = 0; ///< bit i: step i adds fresh noise
    bool mixesStart = false;      ///< the start has a share of noise of its own
    bool clampsEstimate = false;
    bool writesMemory = false; ///< the finished picture goes into the memory bank
    Prediction prediction = Prediction::V;
    GuidanceKind guidance = GuidanceKind::None;

    bool operator==(const FramePlan&) const = default;
};

/// One of the pictures that a frame begins with.
enum class FramePicture : std::int32_t { None, Input, Last };

/// Every number of a frame that may be another in the next, or after a setting moved. Lies in
/// device memory and is brought there in one copy before the frame.
struct FrameNumbers {
    struct Step {
        StepCoefficients<float> sampler;
        float alpha = 1, sigma = 0;
        std::int32_t isGuided = 0; ///< false where x is pure noise
        std::int32_t timeRow = 0;  ///< of the time table; the network's own
    };

    NoiseDraw startNoise;                         ///< shared with other frames, or fresh
    NoiseDraw ownNoise;                           ///< everything else that this frame draws
    float startShare = 1, ownShare = 0;           ///< of the two in the noise of the start
    float signal = 0, spread = 1;                 ///< α and σ at the first step
    float historyShare = 1, historyNoise = 0;     ///< √(1 − s²) and s
    FramePicture start = FramePicture::Input;     ///< below the noise of the first step
    FramePicture history = FramePicture::Input;   ///< below the noise of h; None: h = 0
    FramePicture reference = FramePicture::Input; ///< x_ref of residual guidance
    std::int32_t seesInput = 1;                   ///< false: u = 0
    std::int32_t isAlone = 0;                     ///< not blended with the last picture
    float blend = 1;                              ///< β
    float gamma = 1, delta = 1;                   ///< of guidance
    std::int32_t slot = 0;                        ///< of the memory bank; the network's own
    Step steps[kMostFrameSteps];
    float keyBias[kMemoryTokens] = {}; ///< the network's own
};

/// One frame, for a network that runs all of it. Pictures are host F32 [3p², gridHeight,
/// gridWidth].
struct FrameCall {
    FramePlan plan;
    FrameNumbers numbers;
    std::span<const int> timesteps; ///< of the steps
    int historyBucket = 0;
    bool seesMemory = true;
    std::span<const float> input; ///< u_k
    std::span<const float> last;  ///< y_{k−1}
    /// What FrameAnswer said of `last`, which need not be brought to the device then; 0: it was
    /// made elsewhere.
    std::uint64_t lastVersion = 0;
};

struct FrameAnswer {
    bool isFinite = true;      ///< false: nothing was written to the memory bank
    std::uint64_t version = 0; ///< names the picture for the next frame
};

} // namespace vergence::live
