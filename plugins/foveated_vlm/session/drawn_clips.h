#pragma once

#include <memory>

#include "plugins/foveated_vlm/clips/clip_source.h"
#include "plugins/foveated_vlm/foveated_vlm_config.h"

namespace vergence::fvlm {

/// Clips that a run draws of its task: to learn from; to be tested on, with ids of their own; and
/// those whose words make the tokenizer, the same for all runs of a task.
enum class DrawnSet { Training, HeldOut, Tokenizer };
std::unique_ptr<ClipSource> drawnClips(const FoveatedVlmConfig& config, DrawnSet set);

/// Least nats per answer of a drawn task that are possible without seeing.
double blindNats(const FoveatedVlmConfig& config);

} // namespace vergence::fvlm
