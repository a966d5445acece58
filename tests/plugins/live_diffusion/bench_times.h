#pragma once

#include <vector>

#include "core/compute/rng.h"
#include "plugins/live_diffusion/bench/report.h"

namespace vergence::test {

/// Normal times about `mean` with `share` deviation, microseconds.
inline std::vector<double> noisyTimes(std::size_t count, double mean, double share,
                                      std::uint64_t seed)
{
    const Rng rng(seed);
    std::vector<double> times(count);
    for (std::size_t i = 0; i < count; ++i) {
        double sum = -6; // of twelve uniform numbers: nearly normal, deviation 1
        for (std::size_t j = 0; j < 12; ++j)
            sum += rng.uniform(12 * i + j);
        times[i] = mean * (1 + share * sum);
    }
    return times;
}

/// A result of these times alone, with 200 MiB of weights.
inline live::BenchResult resultOfTimes(std::vector<double> microseconds)
{
    live::BenchResult result;
    result.id = "frames";
    result.pipelineUs = result.launchUs = microseconds;
    result.deviceUs = std::move(microseconds);
    result.memory.weights = 200 << 20;
    return result;
}

} // namespace vergence::test
