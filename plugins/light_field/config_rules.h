#pragma once

#include "plugins/light_field/light_field_config.h"

namespace vergence::light_field {

/// Checks over several fields: contradictory geometry, unknown scenes, missing pictures, hints on
/// quality.
void addRules(SchemaBuilder<LightFieldConfig>& builder);

} // namespace vergence::light_field
