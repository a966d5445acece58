#pragma once

#include "core/compute/kernel.h"
#include "core/compute/view.h"
#include "plugins/live_diffusion/engine/frame_call.h"

namespace vergence::live {

// The work of a frame between the evaluations of its network. All pointers are memory of the
// device; pictures are planar F32 [3p², cells]. What changes from frame to frame is read from
// `numbers`, never handed over. The arithmetic is that of Sampler, guide(), historyNoise() and
// temporalBlend(), operation for operation.

/// x, u, h and x_ref of the first step.
struct FrameStart {
    const FrameNumbers* numbers = nullptr;
    Index values = 0;
    const float* startNoise = nullptr;
    const float* ownNoise = nullptr; ///< null: no share in the start
    const float* historyNoise = nullptr;
    const float* input = nullptr;
    const float* last = nullptr;
    float* x = nullptr;
    float* u = nullptr;
    float* h = nullptr;
    float* reference = nullptr;
};
inline const Kernel<void(const FrameStart&)> startFrameKernel{"live.frame_start"};

/// The bias rows of the step's time, the same for all batch rows: addends [rows, width].
struct FrameTime {
    const FrameNumbers* numbers = nullptr;
    int step = 0;
    Index rows = 1, width = 0;
    const float* table = nullptr; ///< [pairs, width]
    float* addends = nullptr;
};
inline const Kernel<void(const FrameTime&)> frameTimeKernel{"live.frame_time"};

/// Guidance and one step of the sampler.
struct FrameStep {
    const FrameNumbers* numbers = nullptr;
    int step = 0;
    Index values = 0, cells = 0;
    bool clamps = false;
    Prediction kind = Prediction::V;
    GuidanceKind guidance = GuidanceKind::None;
    const float* prediction = nullptr;
    const float* unconditional = nullptr; ///< prediction without condition; null: none was made
    const float* logits = nullptr;        ///< [cells]
    const float* noise = nullptr;         ///< null: none is added
    const float* previousClean = nullptr;
    float* x = nullptr;         ///< x_t in, x_s out
    float* clean = nullptr;     ///< out
    float* reference = nullptr; ///< x_ref; made anew from an unconditional prediction
    float* bad = nullptr;       ///< [values] counts what was not finite so far; begun at step 0
};
inline const Kernel<void(const FrameStep&)> frameStepKernel{"live.frame_step"};

/// Blend with the last picture, which is overwritten, unless anything was not finite.
struct FrameBlend {
    const FrameNumbers* numbers = nullptr;
    Index channels = 0, cells = 0;
    const float* clean = nullptr;
    const float* logits = nullptr;
    const float* bad = nullptr; ///< [channels · cells]
    float* badSum = nullptr;    ///< [1] out
    float* picture = nullptr;   ///< y_{k−1} in, y_k out
};
inline const Kernel<void(const FrameBlend&)> frameBlendKernel{"live.frame_blend"};

/// Sixteen rows into the slot that the numbers name, unless `badSum` says no.
struct SlotCopy {
    const FrameNumbers* numbers = nullptr;
    const float* badSum = nullptr;
    Index words = 0; ///< of 32 bits, of the sixteen rows
    const std::uint32_t* rows = nullptr;
    std::uint32_t* bank = nullptr; ///< row 0 of slot 0
};
inline const Kernel<void(const SlotCopy&)> copyToSlotKernel{"live.copy_to_slot"};

} // namespace vergence::live
