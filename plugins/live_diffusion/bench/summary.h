#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/metrics/statistics.h"

namespace vergence::live {

/// The product budgets of one frame, milliseconds.
inline constexpr double kRelaxedBudgetMs = 40, kTightBudgetMs = 16;

/// A series of measured times, all in one unit. Nothing is left out as an outlier.
struct Summary {
    std::size_t count = 0;
    double median = 0, mean = 0, min = 0, max = 0;
    double deviation = 0;             ///< standard, n − 1; 0 for one value
    double p90 = 0, p95 = 0, p99 = 0; ///< linear between order statistics, rank (n − 1)p
    double mad = 0;                   ///< median of |value − median|

    double p50() const { return median; }
};
/// Throws ContractError for an empty series or a value that is not finite.
Summary summarise(std::span<const double> values);

/// Median with its 95 % bootstrap interval.
Interval medianInterval(std::span<const double> values, std::uint64_t seed = 1,
                        int resamples = 2000);

/// Standard deviation of the intervals between completions, in their unit; 0 for fewer than three.
double jitter(std::span<const double> completions);

/// How many values are above the budget.
std::size_t misses(std::span<const double> values, double budget);

} // namespace vergence::live
