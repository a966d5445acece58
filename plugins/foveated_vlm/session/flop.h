#pragma once

#include "plugins/foveated_vlm/foveated_vlm_config.h"
#include "plugins/foveated_vlm/model/model_settings.h"

namespace vergence::fvlm {

/// Floating point operations of a micro-step of full batches, 2 for a multiply-add: three times
/// those of its forward pass, or less where parts are frozen. Specification, section 11.1.
double microStepFlop(const FoveatedVlmConfig& config, const ModelSettings& model);

/// Forward pass of one frame through the encoder without its dead tail.
double encoderFlop(const DinoConfig& vit, Index patches);
/// One token through the language model, without its head.
double languageFlop(const LlamaConfig& llm, Index length);
/// One prediction of the next latent; both passes, the shared part once.
double headFlop(const HeadSettings& head, Index state);

} // namespace vergence::fvlm
