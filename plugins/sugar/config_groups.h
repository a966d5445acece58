#pragma once

#include "plugins/sugar/sugar_config.h"

namespace vergence::sugar {

// Keys of the stages after the first Gaussians, a group each.

void addAlignment(SchemaBuilder<SugarConfig>& builder);
void addSurface(SchemaBuilder<SugarConfig>& builder);
void addRefinement(SchemaBuilder<SugarConfig>& builder);
void addTexture(SchemaBuilder<SugarConfig>& builder);

} // namespace vergence::sugar
