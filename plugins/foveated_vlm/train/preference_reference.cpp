#include "plugins/foveated_vlm/train/preference_reference.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace vergence::fvlm {

PreferenceReference::PreferenceReference(Index clips)
    : m_tensor(Tensor::empty(makeCpuDevice(), {clips, 2}, DType::F64))
{
    for (double& value : values())
        value = std::numeric_limits<double>::quiet_NaN();
}

std::span<double> PreferenceReference::values() const
{
    return {static_cast<double*>(m_tensor.data()), static_cast<std::size_t>(m_tensor.size())};
}

void PreferenceReference::set(Index clip, std::array<double, 2> logs)
{
    expects(clip >= 0 && clip < m_tensor.extent(0), "PreferenceReference: no such clip");
    const auto at = static_cast<std::size_t>(2 * clip);
    values()[at] = logs[0];
    values()[at + 1] = logs[1];
}

bool PreferenceReference::knows(Index clip) const
{
    return !std::isnan(values()[static_cast<std::size_t>(2 * clip)]);
}

std::vector<std::array<double, 2>> PreferenceReference::of(std::span<const Index> clips) const
{
    std::vector<std::array<double, 2>> logs;
    for (const Index clip : clips) {
        expects(knows(clip), fmt::format("PreferenceReference: clip {} is not known yet", clip));
        const auto at = static_cast<std::size_t>(2 * clip);
        logs.push_back({values()[at], values()[at + 1]});
    }
    return logs;
}

} // namespace vergence::fvlm
