#pragma once

#include "plugins/live_diffusion/diffusion/sampler.h"
#include "plugins/live_diffusion/engine/frame_call.h"
#include "plugins/live_diffusion/stream/loop_settings.h"

namespace vergence::live {

/// Where a stream stands when a frame begins.
struct FrameSituation {
    std::uint32_t noise = 0; ///< number by which the frame's noise is drawn
    bool isReset = true;     ///< history starts with it
    bool isDream = false;    ///< the input is not looked at
    bool hasLast = false;    ///< there is a last picture
};

/// What a frame with these settings is made of; `writesMemory` is left to the caller.
FramePlan planOf(const LoopSettings& settings, const Sampler& sampler);
/// The numbers of one frame, but for those that are the network's own.
FrameNumbers numbersOf(const LoopSettings& settings, const Sampler& sampler,
                       const FrameSituation& situation);

} // namespace vergence::live
