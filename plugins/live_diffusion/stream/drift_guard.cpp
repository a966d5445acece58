#include "plugins/live_diffusion/stream/drift_guard.h"

#include <algorithm>
#include <cmath>

namespace vergence::live {

namespace {

/// A picture flatter than this has no contrast that could be restored.
constexpr double kFlat = 1e-4;

} // namespace

ColourStatistics colourStatistics(std::span<const float> values)
{
    ColourStatistics result;
    const std::size_t count = values.size() / 3;
    for (std::size_t c = 0; c < 3; ++c) {
        const auto colour = values.subspan(c * count, count);
        double sum = 0, squares = 0;
        for (const float value : colour)
            sum += value;
        const double mean = sum / static_cast<double>(count);
        for (const float value : colour)
            squares += (value - mean) * (value - mean);
        result.mean[c] = mean;
        result.deviation[c] = std::sqrt(squares / static_cast<double>(count));
    }
    return result;
}

void DriftGuard::observe(std::span<const float> input)
{
    const ColourStatistics now = colourStatistics(input);
    const double rate = m_hasInput ? kRate : 1;
    for (std::size_t c = 0; c < 3; ++c) {
        m_wanted.mean[c] += rate * (now.mean[c] - m_wanted.mean[c]);
        m_wanted.deviation[c] += rate * (now.deviation[c] - m_wanted.deviation[c]);
    }
    m_hasInput = true;
}

void DriftGuard::apply(double strength, std::span<float> values) const
{
    if (strength == 0 || !m_hasInput)
        return;
    const ColourStatistics own = colourStatistics(values);
    const std::size_t count = values.size() / 3;
    for (std::size_t c = 0; c < 3; ++c) {
        const double gain =
            own.deviation[c] > kFlat ? m_wanted.deviation[c] / own.deviation[c] : 1.0;
        const double scale = 1 + strength * (gain - 1);
        const double offset = own.mean[c] + strength * (m_wanted.mean[c] - own.mean[c]);
        for (float& value : values.subspan(c * count, count))
            value = static_cast<float>((value - own.mean[c]) * scale + offset);
    }
}

} // namespace vergence::live
