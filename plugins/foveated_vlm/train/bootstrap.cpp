#include "plugins/foveated_vlm/train/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "core/base/error.h"
#include "core/compute/rng.h"

namespace vergence::fvlm {

namespace {

/// The order statistic at a share of the way, between neighbours by their distance.
double quantile(const std::vector<double>& sorted, double share)
{
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// `statistic` of clips as drawn, over all resamples. A word w draws clip ⌊w · n / 2³²⌋.
Interval interval(std::size_t clips, std::uint64_t seed, int resamples,
                  const std::function<double(std::span<const std::size_t>)>& statistic)
{
    expects(clips > 0 && resamples > 0, "bootstrap: at least one clip and one resample");
    std::vector<std::size_t> drawn(clips);
    std::iota(drawn.begin(), drawn.end(), 0);
    Interval result{statistic(drawn), 0, 0};
    std::vector<double> values;
    for (int r = 0; r < resamples; ++r) {
        const Rng rng(seed, static_cast<std::uint64_t>(r));
        for (std::size_t i = 0; i < clips; ++i)
            drawn[i] = (std::uint64_t{rng.bits(i)} * clips) >> 32;
        values.push_back(statistic(drawn));
    }
    std::sort(values.begin(), values.end());
    result.low = quantile(values, 0.025);
    result.high = quantile(values, 0.975);
    return result;
}

double sumOf(std::span<const double> values, std::span<const std::size_t> drawn)
{
    return std::accumulate(drawn.begin(), drawn.end(), 0.0,
                           [&](double sum, std::size_t clip) { return sum + values[clip]; });
}

} // namespace

Interval bootstrapRatio(std::span<const double> numerator, std::span<const double> denominator,
                        std::uint64_t seed, int resamples)
{
    expects(numerator.size() == denominator.size(),
            "bootstrapRatio: numerators and denominators belong together");
    return interval(numerator.size(), seed, resamples, [&](std::span<const std::size_t> drawn) {
        return sumOf(numerator, drawn) / sumOf(denominator, drawn);
    });
}

Interval bootstrapMean(std::span<const double> values, std::uint64_t seed, int resamples)
{
    return interval(values.size(), seed, resamples, [&](std::span<const std::size_t> drawn) {
        return sumOf(values, drawn) / static_cast<double>(drawn.size());
    });
}

} // namespace vergence::fvlm
