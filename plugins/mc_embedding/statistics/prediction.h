#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

std::vector<double> softmax(std::span<const double> logits);
double entropy(std::span<const double> probabilities); ///< natural logarithm
double margin(std::span<const double> logits);         ///< largest − second
/// Variance (n − 1) over templates of the largest probability; logits per template.
double promptSensitivity(const std::vector<std::vector<double>>& logits);

/// Percentile bootstrap of a statistic of n items: `statistic` gets the indices of a resample.
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

/// Coverage of split conformal sets over random halves.
struct Coverage {
    double level = 0, coverage = 0, meanSize = 0, medianSize = 0, sizePerClass = 0;
    std::vector<double> coverageByQuartile, sizeByQuartile; ///< of uncertainty, ascending
};
Coverage conformalCoverage(const std::vector<std::vector<double>>& probabilities,
                           std::span<const std::size_t> labels, std::span<const double> uncertainty,
                           double level, int halves, std::uint64_t seed);

/// d² = bias² + v/T fitted by least squares over T.
struct MeanConvergence {
    double bias2 = 0, variance = 0;
};
MeanConvergence fitMeanConvergence(std::span<const double> passes, std::span<const double> squares);

} // namespace vergence::mc_embedding
