#pragma once

#include "core/plugin/lab_inspector.h"
#include "plugins/sugar/sugar_config.h"

namespace vergence::sugar {

/// What the scene of a configuration holds and lacks, from its description and the headers of its
/// photographs. Damaged lines are errors unless they are to be skipped; missing photographs are
/// warnings as long as enough are left. Empty for the built-in scene and for Gaussians alone.
DataReport inspectedScene(const SugarConfig& config);

} // namespace vergence::sugar
