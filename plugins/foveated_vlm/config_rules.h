#pragma once

#include "core/config/config.h"
#include "plugins/foveated_vlm/foveated_vlm_config.h"

namespace vergence::fvlm {

/// What several keys must satisfy together.
void addRules(SchemaBuilder<FoveatedVlmConfig>& builder);

} // namespace vergence::fvlm
