#pragma once

#include "core/config/config.h"
#include "plugins/live_diffusion/live_diffusion_config.h"

namespace vergence::live {

/// What several keys must satisfy together.
void addRules(SchemaBuilder<LiveDiffusionConfig>& builder);

} // namespace vergence::live
