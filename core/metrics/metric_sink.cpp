#include "core/metrics/metric_sink.h"

#include "core/base/error.h"

namespace vergence {

void MetricSink::record(const std::string& name, double value, std::int64_t step)
{
    expects(!name.empty() && name.find_first_of("\r\n") == std::string::npos,
            "metrics: the name of a series must be one line of text");
    const double now = steadySeconds();
    const std::lock_guard lock(m_mutex);
    m_points.push_back({step, now - m_start + m_elapsedBefore, name, value});
}

std::vector<MetricPoint> MetricSink::drain()
{
    std::vector<MetricPoint> points;
    const std::lock_guard lock(m_mutex);
    points.swap(m_points);
    return points;
}

void MetricSink::setStart(double steadySecondsAtStart, double alreadyElapsed)
{
    const std::lock_guard lock(m_mutex);
    m_start = steadySecondsAtStart;
    m_elapsedBefore = alreadyElapsed;
}

} // namespace vergence
