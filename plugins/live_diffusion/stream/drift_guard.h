#pragma once

#include <array>
#include <span>

#include "plugins/live_diffusion/engine/frame_network.h"

namespace vergence::live {

/// Mean and deviation of each colour of planes [3p², gridHeight, gridWidth].
struct ColourStatistics {
    std::array<double, 3> mean{}, deviation{};
};
ColourStatistics colourStatistics(std::span<const float> values);

/// Holds the colours of a stream near those of its input: mean and deviation of each are moved
/// towards a running mean of the input's.
class DriftGuard {
public:
    /// Weight of a new frame in the running mean.
    static constexpr double kRate = 0.1;

    void reset() { m_hasInput = false; }
    void observe(std::span<const float> input);
    /// strength in [0, 1]: 0 nothing, 1 all of the way. Values are not clamped.
    void apply(double strength, std::span<float> values) const;
    const ColourStatistics& wanted() const { return m_wanted; }

private:
    bool m_hasInput = false;
    ColourStatistics m_wanted;
};

} // namespace vergence::live
