#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace vergence {

/// Linear interpolation of order statistics at position (n − 1)·q; x not empty, q in [0, 1].
double quantile(std::vector<double> x, double q);

/// 1 … n, ties share their average. Throws ContractError for what is not a number.
std::vector<double> averageRanks(std::span<const double> x);
/// Sizes of the groups of equal entries, at least two each.
std::vector<double> tieSizes(std::vector<double> x);

/// P(Z ≤ x) of the standard normal.
double normalCumulative(double x);

/// Whether two samples come from the same distribution.
struct RankSum {
    double u = 0; ///< pairs in which the entry of `b` is the larger; ties count one half
    double p = 1; ///< two-sided
};
/// Normal approximation with tie correction and continuity correction; at least one entry each.
/// Source: On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other
/// (1947).
RankSum rankSumTest(std::span<const double> a, std::span<const double> b);

/// An estimate with its 95 % interval.
struct Interval {
    double value = NAN, low = NAN, high = NAN; ///< not a number: not measured
};
/// Percentile interval of `statistic`, which gets the indices of a resample of `count` things.
/// Draws are a function of `seed`: a word w draws thing ⌊w · count / 2³²⌋. Throws ContractError
/// without things or resamples. Source: Bootstrap Methods: Another Look at the Jackknife (1979);
/// percentile method.
Interval bootstrapInterval(std::size_t count, std::uint64_t seed, int resamples,
                           const std::function<double(std::span<const std::size_t>)>& statistic);

} // namespace vergence
