#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "plugins/live_diffusion/stream/frame_loop.h"
#include "tests/plugins/live_diffusion/linear_network.h"

namespace vergence::live {

inline constexpr FrameShape kSmall{2, 8, 8};

/// Numbers in [−0.9, 0.9] that look like nothing in particular.
inline std::vector<float> patternOf(int number, Index count = kSmall.values())
{
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.9f * std::sin(0.37f * static_cast<float>(i) +
                                    0.05f * static_cast<float>(number * (1 + int(i) % 5)));
    return values;
}

inline std::vector<float> flat(float value, Index count = kSmall.values())
{
    return std::vector<float>(static_cast<std::size_t>(count), value);
}

inline double largestDifference(std::span<const float> a, std::span<const float> b)
{
    double worst = a.size() == b.size() ? 0 : 1e9;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        worst = std::max(worst, std::abs(double(a[i]) - double(b[i])));
    return worst;
}

inline std::vector<float> copyOf(std::span<const float> values)
{
    return {values.begin(), values.end()};
}

/// A loop with its network in reach.
struct Bench {
    std::shared_ptr<LinearNetwork> network;
    FrameLoop loop;

    explicit Bench(const LoopSettings& settings, LinearNetwork::Gains gains = {},
                   FrameShape shape = kSmall)
        : network(std::make_shared<LinearNetwork>(shape)),
          loop(network, settings)
    {
        network->gains = gains;
    }
};

/// Everything on: history, memory, blend, guard, filter, guidance.
inline LoopSettings everything()
{
    LoopSettings settings;
    settings.noise = StartNoise::Correlated;
    settings.historyNoise = 0.2;
    settings.driftGuard = 0.3;
    settings.filtersSimilar = true;
    settings.similarity = 0.9;
    settings.guidance = {GuidanceKind::SelfNegative, 1.5, 0.8};
    settings.eta = 0.5;
    return settings;
}
inline constexpr LinearNetwork::Gains kAllGains{0.5f, 0.3f, 0.15f, 0.1f, 1.f};

} // namespace vergence::live
