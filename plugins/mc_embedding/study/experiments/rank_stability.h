#pragma once

#include "plugins/mc_embedding/study/experiments/score_comparison.h"

namespace vergence::mc_embedding {

/// Exp 1: whether the ranks of images stay when the drop probability changes.
struct RankStabilityResult {
    std::vector<double> p; ///< ascending
    ScoreComparison comparison;
    std::vector<double> meanTrace;
    /// Slope of ln(mean trace) over ln(p / (1 − p)): 1 where the spread is of first order in the
    /// masks.
    Figure order;
};

/// The drop probabilities of the experiment.
std::vector<double> rankStabilityRates();
/// scores[i]: [K, N] at p[i] with `passes` passes.
RankStabilityResult rankStability(std::span<const double> p, std::span<const Matrix> scores,
                                  int passes, double alpha = 0.05);
nlohmann::json toJson(const RankStabilityResult& result);

} // namespace vergence::mc_embedding
