#include "app/charts/smooth_cache.h"

#include <algorithm>

namespace vergence {

const std::vector<double>& SmoothCache::update(const std::vector<double>& values, double weight)
{
    if (weight != m_weight || values.size() < m_smoothed.size()) {
        restart(values.size(), weight);
        m_isConstant = true;
    }
    const auto known = static_cast<std::ptrdiff_t>(m_smoothed.size());
    const bool isStillConstant =
        m_isConstant && std::all_of(values.begin() + known, values.end(),
                                    [&](double value) { return value == values.front(); });
    if (isStillConstant) {
        m_smoothed.insert(m_smoothed.end(), values.begin() + known, values.end());
        return m_smoothed;
    }
    if (m_isConstant) // the first other value changes what came before
        restart(values.size(), weight);
    m_isConstant = false;
    for (std::size_t i = m_smoothed.size(); i < values.size(); ++i)
        m_smoothed.push_back(m_smoother.next(values[i]));
    return m_smoothed;
}

/// Leaves room to grow: all curves have about as many points, and would move all at once.
void SmoothCache::restart(std::size_t expected, double weight)
{
    m_smoothed.clear();
    m_smoothed.reserve(expected + expected / 2);
    m_weight = weight;
    m_smoother = Smoother(weight);
}

void SmoothCache::clear()
{
    *this = {};
}

} // namespace vergence
