#include "plugins/foveated_vlm/train/bootstrap.h"

#include <numeric>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

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
    return bootstrapInterval(numerator.size(), seed, resamples,
                             [&](std::span<const std::size_t> drawn) {
                                 return sumOf(numerator, drawn) / sumOf(denominator, drawn);
                             });
}

Interval bootstrapMean(std::span<const double> values, std::uint64_t seed, int resamples)
{
    return bootstrapInterval(values.size(), seed, resamples,
                             [&](std::span<const std::size_t> drawn) {
                                 return sumOf(values, drawn) / static_cast<double>(drawn.size());
                             });
}

} // namespace vergence::fvlm
