#pragma once

#include "core/config/config.h"
#include "plugins/foveated_vlm/foveated_vlm_config.h"

namespace vergence::fvlm {

// Groups of keys that would crowd one file.
void addTraining(SchemaBuilder<FoveatedVlmConfig>& builder);
void addEvaluation(SchemaBuilder<FoveatedVlmConfig>& builder);

} // namespace vergence::fvlm
