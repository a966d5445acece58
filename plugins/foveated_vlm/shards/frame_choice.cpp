#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "plugins/foveated_vlm/shards/decode.h"

namespace vergence::fvlm {

namespace {

/// Times that differ by less are equal: files keep them in ticks, s.
constexpr double kSameTime = 1e-6;

/// The frame that is shown at a time.
std::size_t shownAt(std::span<const double> timestamps, double time)
{
    const auto after = std::upper_bound(timestamps.begin(), timestamps.end(), time + kSameTime);
    return after == timestamps.begin() ? 0
                                       : static_cast<std::size_t>(after - timestamps.begin()) - 1;
}

std::vector<std::size_t> atMidpoints(std::span<const double> timestamps, double end, int frames)
{
    std::vector<std::size_t> picks;
    const double begin = timestamps.front(), length = std::max(0.0, end - begin);
    for (int i = 0; i < frames; ++i)
        picks.push_back(shownAt(timestamps, begin + (i + 0.5) * length / frames));
    return picks;
}

} // namespace

std::vector<std::size_t> pickFrames(std::span<const double> timestamps, double end,
                                    Sampling sampling, int frames)
{
    expects(!timestamps.empty() && frames > 0, "pickFrames: frames to pick from and to pick");
    const std::size_t there = timestamps.size(), wanted = static_cast<std::size_t>(frames);
    if (sampling == Sampling::Fps1) {
        const double length = end - timestamps.front();
        const double seconds = std::max(1.0, std::ceil(length - kSameTime));
        if (seconds > frames)
            return atMidpoints(timestamps, end, frames);
        std::vector<std::size_t> picks;
        for (int i = 0; i < static_cast<int>(seconds); ++i)
            picks.push_back(shownAt(timestamps, timestamps.front() + i));
        return picks;
    }
    std::vector<std::size_t> picks;
    if (there <= wanted) { // all of them, then the last one is held
        for (std::size_t i = 0; i < wanted; ++i)
            picks.push_back(std::min(i, there - 1));
        return picks;
    }
    if (sampling == Sampling::UniformN)
        return atMidpoints(timestamps, end, frames);
    for (std::size_t i = 0; i < wanted; ++i)
        picks.push_back(wanted == 1 ? 0 : i * (there - 1) / (wanted - 1));
    return picks;
}

} // namespace vergence::fvlm
