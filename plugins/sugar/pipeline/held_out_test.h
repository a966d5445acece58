#pragma once

#include "core/run/run_context.h"
#include "plugins/sugar/pipeline/workspace.h"

namespace vergence::sugar {

/// Whether a test belongs to the end of step `step` of the run and was not made yet: every
/// eval_every steps and where a stage ends. Never without held-out pictures.
bool isTestDue(const Workspace& workspace, std::int64_t step, bool isStageEnd);

/// Renders and measures all held-out pictures, records and keeps the result. False where a stop
/// came first: nothing is kept then.
bool testHeldOut(RunContext& context, Workspace& workspace, const Gaussians& gaussians,
                 const RasterSettings& settings, std::int64_t step);

} // namespace vergence::sugar
