#include "app/charts/smooth_cache.h"

#include <algorithm>
#include <cmath>

#include "core/metrics/metric_store.h"

namespace vergence {

const std::vector<double>& SmoothCache::update(const std::vector<double>& values, double weight)
{
    // A constant series is drawn as it is; the first other value changes what came before, so it
    // starts anew.
    const bool isFresh = weight != m_weight || values.size() < m_smoothed.size() || m_isConstant;
    if (isFresh) {
        m_smoothed = smooth(values, weight);
        m_weight = weight;
        const auto finite =
            std::count_if(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
        m_remaining = std::pow(weight, static_cast<double>(finite));
        const auto last = std::find_if(m_smoothed.rbegin(), m_smoothed.rend(),
                                       [](double v) { return std::isfinite(v); });
        m_average = last == m_smoothed.rend() ? 0 : *last * (1 - m_remaining);
        m_isConstant = std::all_of(values.begin(), values.end(),
                                   [&](double v) { return v == values.front(); });
        return m_smoothed;
    }
    for (std::size_t i = m_smoothed.size(); i < values.size(); ++i) {
        if (!std::isfinite(values[i])) {
            m_smoothed.push_back(values[i]);
            continue;
        }
        m_average = m_average * weight + (1 - weight) * values[i];
        m_remaining *= weight;
        m_smoothed.push_back(m_average / (1 - m_remaining));
    }
    return m_smoothed;
}

void SmoothCache::clear()
{
    *this = {};
}

} // namespace vergence
