#pragma once

#include "core/config/config.h"
#include "plugins/live_diffusion/live_diffusion_config.h"

namespace vergence::live {

// Groups of keys that would crowd one file.
void addStream(SchemaBuilder<LiveDiffusionConfig>& builder);   ///< sampler, stream, switches
void addMeasures(SchemaBuilder<LiveDiffusionConfig>& builder); ///< training to exports

} // namespace vergence::live
