#pragma once

#include "core/metrics/metric_decl.h"
#include "core/run/run_context.h"
#include "plugins/sugar/refine/refiner.h"
#include "plugins/sugar/train/aligner.h"
#include "plugins/sugar/train/evaluation.h"
#include "plugins/sugar/train/trainer.h"

namespace vergence::sugar {

/// Series of the lab, as the plugin declares them.
std::vector<MetricDecl> sugarMetrics();

void recordStep(RunContext& context, const StepReport& report, Index count);
void recordAlignment(RunContext& context, const AlignmentReport& report, Index count);
void recordRefinement(RunContext& context, const RefineReport& report);
void recordTest(RunContext& context, const EvaluationResult& result);
/// Histograms of opacity, scales (in units of the extent) and anisotropy, as tables.
void reportHistograms(RunContext& context, const Gaussians& gaussians, double extent);

} // namespace vergence::sugar
