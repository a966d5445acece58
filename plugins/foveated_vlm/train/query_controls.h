#pragma once

#include <cstdint>

#include "plugins/foveated_vlm/model/forward.h"

namespace vergence::fvlm {

/// Losses of the second look with queries that know nothing of the frame, summed over what they
/// count: answers' tokens, or frames for latents.
struct ControlSums {
    double random = 0;   ///< queries of normal numbers, deviation as that of the model's queries
    double shuffled = 0; ///< the model's queries, dealt to other frames and clips of the batch
    Index count = 0;
};

/// What the draws of a batch depend on.
struct ControlKey {
    std::uint64_t seed = 42, batch = 0;
};

/// Adds the losses of one batch; `batch.sequences` must be there. The tape of `pass` records no
/// gradients. Waits for the device.
void addControls(Stream& stream, const ForwardPass& pass, const FoveatedModel& model,
                 const MicroBatch& batch, ControlKey key, ControlSums& sums);

} // namespace vergence::fvlm
