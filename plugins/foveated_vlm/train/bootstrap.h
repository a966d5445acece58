#pragma once

#include <cstdint>
#include <span>

#include "core/metrics/statistics.h"

namespace vergence::fvlm {

using vergence::Interval;

/// Σ numerator / Σ denominator over clips with the percentile interval over resampled clips, e.g.
/// coarse against fine losses: above 1, looking helps. Draws are a function of `seed`. Throws
/// ContractError unless there are as many of both and at least one.
/// Source: Bootstrap Methods: Another Look at the Jackknife (1979); percentile method.
Interval bootstrapRatio(std::span<const double> numerator, std::span<const double> denominator,
                        std::uint64_t seed, int resamples = 2000);
/// The same of the mean of `values`.
Interval bootstrapMean(std::span<const double> values, std::uint64_t seed, int resamples = 2000);

} // namespace vergence::fvlm
