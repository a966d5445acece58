#pragma once

#include <span>
#include <vector>

#include "core/metrics/statistics.h"
#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

using vergence::averageRanks;
using vergence::quantile;

/// None where one side is constant or has fewer than two entries.
Figure pearson(std::span<const double> x, std::span<const double> y);
Figure spearman(std::span<const double> x, std::span<const double> y);
Figure kendallTauB(std::span<const double> x, std::span<const double> y);

/// Area under the ROC curve; none where one class is empty.
Figure auroc(std::span<const double> scores, std::span<const char> positives);
/// Points of the ROC curve: false positive rate, true positive rate, ascending.
struct RocCurve {
    std::vector<double> falsePositive, truePositive;
};
RocCurve rocCurve(std::span<const double> scores, std::span<const char> positives);

/// Signed-rank test that x tends to be above 0 (greater): zeros dropped, exact for n ≤ 25 without
/// ties, else normal with tie correction.
struct Wilcoxon {
    double statistic = 0; ///< W⁺
    Figure p;
};
Wilcoxon wilcoxonGreater(std::span<const double> x);

} // namespace vergence::mc_embedding
