#pragma once

#include "plugins/foveated_vlm/model/model_settings.h"
#include "plugins/foveated_vlm/train/trainer.h"

namespace vergence::fvlm {

/// Floating point operations of learning from so much, 2 for a multiply-add: three times those of
/// the forward passes that the settings ask for, or less where parts are frozen. What is computed
/// again to save memory does not count. `patches`: of a frame. Specification, section 11.1.
double trainFlop(const WorkCounts& work, Index patches, const ModelSettings& model,
                 const TrainSettings& train);

/// Forward pass of one frame through the encoder without its dead tail.
double encoderFlop(const DinoConfig& vit, Index patches);
/// One token through the language model, without its head.
double languageFlop(const LlamaConfig& llm, Index length);
/// One prediction of the next latent; both passes, the shared part once.
double headFlop(const HeadSettings& head, Index state);

} // namespace vergence::fvlm
