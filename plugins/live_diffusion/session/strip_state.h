#pragma once

#include <string>

#include "core/artifact/checkpoint.h"
#include "plugins/live_diffusion/view/training_strip.h"

namespace vergence::live {

// The pictures of a training so far, kept with a checkpoint: a run that goes on shows all of them.

void saveStrip(const TrainingStrip& strip, Checkpoint& checkpoint);
/// An empty strip from a checkpoint that has none. Throws InputError for a damaged one.
TrainingStrip loadStrip(const Checkpoint& checkpoint);
bool isStripTensor(const std::string& name); ///< of a checkpoint: one of these

} // namespace vergence::live
