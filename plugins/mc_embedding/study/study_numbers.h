#pragma once

#include <span>

#include "plugins/mc_embedding/statistics/figure.h"
#include "plugins/mc_embedding/study/experiments/score_comparison.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// A number among the settings; `otherwise` where it is not there.
double settingOr(const StudyState& state, const std::string& key, double otherwise);

/// The first `count` columns: the images measured so far.
Matrix firstColumns(const Matrix& matrix, std::size_t count);
/// The first `count` rows.
Matrix firstRows(const Matrix& matrix, std::size_t count);
/// Standard error of that mean; NaN with one trial.
std::vector<double> errorsOverTrials(const Matrix& scores);

/// Passed where at least so many images score higher when degraded.
inline constexpr double kDegradationGate = 0.75;

/// Degraded against clean under the same masks, trial means of trace_pre.
struct DegradationOutcome {
    std::size_t images = 0; ///< that have both
    double fractionHigher = 0, meanClean = 0, meanDegraded = 0;
    Figure wilcoxonP; ///< that degraded scores are not higher
};
DegradationOutcome degradationOutcome(const ModelStudy& study, const DegradedScores& degraded,
                                      std::size_t passIndex);

/// Mean, population standard deviation, median and quartiles of numbers that exist.
struct Spread {
    Figure mean, deviation, median, low, high;
};
Spread spreadOf(std::span<const double> values);

} // namespace vergence::mc_embedding
