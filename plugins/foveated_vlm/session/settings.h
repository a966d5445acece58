#pragma once

#include "core/compute/device.h"
#include "core/compute/dtype.h"
#include "plugins/foveated_vlm/foveated_vlm_config.h"
#include "plugins/foveated_vlm/model/model_settings.h"
#include "plugins/foveated_vlm/text/batch_maker.h"
#include "plugins/foveated_vlm/train/evaluator.h"
#include "plugins/foveated_vlm/train/train_settings.h"

namespace vergence::fvlm {

// What the configuration says, in the words of those who do it.

/// Extents come from the names of known models or from the config.json of a folder. `vocabulary`:
/// of the tokenizer, 0 where nothing is written; `latentHeight`, `latentWidth`: 0 without latents.
/// Throws InputError for a tokenizer that knows more pieces than the language model has rows.
ModelSettings modelSettings(const FoveatedVlmConfig& config, Index vocabulary, Index latentHeight,
                            Index latentWidth);
/// Edge of the encoder's patches, px.
int patchOf(const FoveatedVlmConfig& config);

LiveSettings liveSettings(const FoveatedVlmConfig& config);
TrainSettings trainSettings(const FoveatedVlmConfig& config);
BatchSettings batchSettings(const FoveatedVlmConfig& config);
TextSettings textSettings(const FoveatedVlmConfig& config);
EvaluationSettings evaluationSettings(const FoveatedVlmConfig& config);

/// Type of masters and of products on a device.
struct Precision {
    DType master = DType::F32, compute = DType::F32;
};
/// auto: BF16 on cards that multiply it, F32 on others and on the CPU. Throws InputError where the
/// configuration asks for a type that the card does not multiply.
Precision precisionOf(const FoveatedVlmConfig& config, const DeviceInfo& device);

} // namespace vergence::fvlm
