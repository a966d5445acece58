#include "core/metrics/metric_store.h"

namespace vergence {

void MetricStore::append(const std::vector<MetricPoint>& points)
{
    for (const MetricPoint& point : points)
        m_series[point.name].append(point);
    if (!points.empty())
        ++m_revision;
}

std::vector<std::string> MetricStore::names() const
{
    std::vector<std::string> names;
    names.reserve(m_series.size());
    for (const auto& [name, series] : m_series)
        names.push_back(name);
    return names;
}

const Series* MetricStore::find(const std::string& name) const
{
    const auto found = m_series.find(name);
    return found == m_series.end() ? nullptr : &found->second;
}

} // namespace vergence
