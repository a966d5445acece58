#pragma once

#include "plugins/sugar/sugar_config.h"

namespace vergence::sugar {

/// Checks over several fields: folders that do not exist, steps that never come.
void addRules(SchemaBuilder<SugarConfig>& builder);

} // namespace vergence::sugar
