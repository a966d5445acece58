#pragma once

#include <optional>

#include "core/run/run_context.h"
#include "plugins/sugar/pipeline/workspace.h"

namespace vergence::sugar {

/// S0 to S2: reads the scene, chooses what is held out and measures the extent. Findings become
/// warnings of the run. Sizes follow the plan where it is automatic. Nothing where a stop came
/// first. Throws InputError.
std::optional<Workspace> ingested(RunContext& context, const SugarConfig& config);

/// The table "data": what is learnt from, and which pictures were left out and why. Nothing without
/// pictures.
void reportScene(RunContext& context, const Workspace& workspace);

} // namespace vergence::sugar
