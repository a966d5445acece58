#pragma once

#include <nlohmann/json_fwd.hpp>

#include "plugins/mc_embedding/study/experiments/mean_convergence.h"
#include "plugins/mc_embedding/study/experiments/prediction_targets.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

// The later experiments of a measured model. Each summary is an object, or {"reason": …} where the
// study lacks what it needs.

/// There are numbers, and all of them are.
bool isKnown(const Matrix& scores);
/// Margin, entropy and prompt sensitivity; errors only where every image has a label.
PredictionTargets targetsOf(const Ambiguity& ambiguity, double share = 0.10);
/// The kept clouds with their deterministic features.
std::vector<PassCloud> passCloudsOf(const ModelStudy& study);

nlohmann::json meanConvergenceSummary(const ModelStudy& study);
/// Exp 2, on the pictures that were painted for it.
nlohmann::json syntheticNaturalSummary(const ModelStudy& study);
/// Exp 6 on the deterministic features, λ = 1 and by evidence of one-hot classes (labels, or
/// predictions without them), judged by the targets of Exp 5.
nlohmann::json leverageSummary(const ModelStudy& study, double share = 0.10);
/// Exp 8 on the kept clouds; texts [P, D].
nlohmann::json semanticSpaceSummary(const ModelStudy& study, const Matrix& texts,
                                    double logitScale);

} // namespace vergence::mc_embedding
