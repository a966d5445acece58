#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

std::vector<double> softmax(std::span<const double> logits);
double entropy(std::span<const double> probabilities); ///< natural logarithm
double margin(std::span<const double> logits);         ///< largest − second, of at least two
/// Variance (n − 1) over templates of the largest probability; logits per template. NaN with fewer
/// than two templates.
double promptSensitivity(const std::vector<std::vector<double>>& logits);

/// Percentile bootstrap of a statistic of n items: `statistic` gets the indices of a resample.
/// Resamples without a figure are left out; none where that is more than half of them.
struct Interval {
    Figure low, high;
};
Interval bootstrap(std::size_t n,
                   const std::function<Figure(std::span<const std::size_t>)>& statistic,
                   int resamples, double alpha, std::uint64_t seed);

/// The ⌈(n + 1)·level⌉-th smallest score; infinite where that is beyond n.
double conformalQuantile(std::vector<double> scores, double level);
/// Cumulative probability through class `label`, classes by descending probability.
double apsScore(std::span<const double> probabilities, std::size_t label);
/// Classes whose inclusive cumulative probability is at most q; never empty. By descending
/// probability.
std::vector<std::size_t> apsSet(std::span<const double> probabilities, double q);

/// Coverage of split conformal sets over random halves: calibrated on one half, judged on the
/// other, all judgements pooled. A quartile without images has NaN.
struct Coverage {
    double level = 0, coverage = 0, meanSize = 0, medianSize = 0, sizePerClass = 0;
    std::vector<double> coverageByQuartile, sizeByQuartile; ///< of uncertainty, ascending
};
Coverage conformalCoverage(const std::vector<std::vector<double>>& probabilities,
                           std::span<const std::size_t> labels, std::span<const double> uncertainty,
                           double level, int halves, std::uint64_t seed);

/// d² = bias² + v/T fitted by least squares over at least two different T.
struct MeanConvergence {
    double bias2 = 0, variance = 0;
};
MeanConvergence fitMeanConvergence(std::span<const double> passes, std::span<const double> squares);

} // namespace vergence::mc_embedding
