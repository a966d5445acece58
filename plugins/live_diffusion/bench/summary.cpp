#include "plugins/live_diffusion/bench/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/error.h"

namespace vergence::live {

namespace {

double meanOf(std::span<const double> values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviationOf(std::span<const double> values)
{
    if (values.size() < 2)
        return 0;
    const double mean = meanOf(values);
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

/// Median by selection; reorders.
double medianOf(std::vector<double>& values)
{
    const std::size_t half = values.size() / 2;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1)
        return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

} // namespace

Summary summarise(std::span<const double> values)
{
    expects(!values.empty(), "summarise: at least one value");
    expects(std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }),
            "summarise: every value is finite");
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    Summary summary;
    summary.count = sorted.size();
    summary.median = vergence::quantile(sorted, 0.5);
    summary.mean = meanOf(sorted);
    summary.min = sorted.front();
    summary.max = sorted.back();
    summary.deviation = deviationOf(sorted);
    summary.p90 = vergence::quantile(sorted, 0.90);
    summary.p95 = vergence::quantile(sorted, 0.95);
    summary.p99 = vergence::quantile(sorted, 0.99);
    for (double& value : sorted)
        value = std::abs(value - summary.median);
    summary.mad = medianOf(sorted);
    return summary;
}

Interval medianInterval(std::span<const double> values, std::uint64_t seed, int resamples)
{
    std::vector<double> drawn(values.size());
    return bootstrapInterval(values.size(), seed, resamples,
                             [&](std::span<const std::size_t> indices) {
                                 for (std::size_t i = 0; i < indices.size(); ++i)
                                     drawn[i] = values[indices[i]];
                                 return medianOf(drawn);
                             });
}

double jitter(std::span<const double> completions)
{
    if (completions.size() < 3)
        return 0;
    std::vector<double> intervals;
    for (std::size_t i = 1; i < completions.size(); ++i)
        intervals.push_back(completions[i] - completions[i - 1]);
    return deviationOf(intervals);
}

std::size_t misses(std::span<const double> values, double budget)
{
    return static_cast<std::size_t>(
        std::count_if(values.begin(), values.end(), [&](double v) { return v > budget; }));
}

} // namespace vergence::live
