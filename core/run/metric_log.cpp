#include "core/run/metric_log.h"

#include <cmath>
#include <utility>

#include "core/base/clock.h"

namespace vergence {

void MetricLog::start(double alreadyElapsed, std::int64_t lines, const MetricStore& earlier)
{
    const std::lock_guard lock(m_mutex);
    m_start = steadySeconds();
    m_elapsedBefore = alreadyElapsed;
    m_sink.setStart(m_start, alreadyElapsed);
    m_lines = m_collected = lines;
    for (const std::string& name : earlier.names()) {
        const Series& series = *earlier.find(name);
        for (std::size_t i = 0; i < series.size(); ++i)
            summarise({series.steps()[i], series.walls()[i], name, series.values()[i]});
    }
}

double MetricLog::wallSeconds() const
{
    const std::lock_guard lock(m_mutex);
    if (m_start == 0)
        return 0;
    return m_elapsedBefore + steadySeconds() - m_start;
}

void MetricLog::summarise(const MetricPoint& point)
{
    Summary& summary = m_summaries[point.name];
    Series::Summary& numbers = summary.numbers;
    ++numbers.count;
    numbers.last = point.value;
    if (!std::isfinite(point.value)) {
        ++numbers.notFinite;
        return;
    }
    if (!summary.hasFinite || point.value < numbers.minimum) {
        numbers.minimum = point.value;
        numbers.stepOfMinimum = point.step;
    }
    if (!summary.hasFinite || point.value > numbers.maximum) {
        numbers.maximum = point.value;
        numbers.stepOfMaximum = point.step;
    }
    summary.hasFinite = true;
}

void MetricLog::collect()
{
    std::vector<MetricPoint> fresh = m_sink.drain();
    for (MetricPoint& point : fresh) {
        summarise(point);
        m_unsent.push_back(point);
        m_unwritten.push_back(std::move(point));
    }
    m_collected += static_cast<std::int64_t>(fresh.size());
}

MetricLog::Points MetricLog::takeUnwritten()
{
    const std::lock_guard lock(m_mutex);
    collect();
    return {m_lines, std::exchange(m_unwritten, {})};
}

void MetricLog::written(const Points& points)
{
    const std::lock_guard lock(m_mutex);
    m_lines = points.first + static_cast<std::int64_t>(points.points.size());
}

void MetricLog::returned(Points points)
{
    const std::lock_guard lock(m_mutex);
    points.points.insert(points.points.end(), std::make_move_iterator(m_unwritten.begin()),
                         std::make_move_iterator(m_unwritten.end()));
    m_unwritten = std::move(points.points);
}

MetricLog::Points MetricLog::takeUnsent()
{
    const std::lock_guard lock(m_mutex);
    collect();
    Points points{m_collected - static_cast<std::int64_t>(m_unsent.size()), {}};
    points.points = std::exchange(m_unsent, {});
    return points;
}

MetricLog::Points MetricLog::sentButUnwritten() const
{
    const std::lock_guard lock(m_mutex);
    const std::int64_t sent = m_collected - static_cast<std::int64_t>(m_unsent.size());
    const std::int64_t known = m_collected - static_cast<std::int64_t>(m_unwritten.size());
    if (sent <= known)
        return {known, {}};
    return {known, {m_unwritten.begin(), m_unwritten.begin() + (sent - known)}};
}

std::int64_t MetricLog::lines() const
{
    const std::lock_guard lock(m_mutex);
    return m_lines;
}

nlohmann::json MetricLog::summary() const
{
    nlohmann::json all = nlohmann::json::object();
    const std::lock_guard lock(m_mutex);
    for (const auto& [name, summary] : m_summaries) {
        const Series::Summary& numbers = summary.numbers;
        nlohmann::json entry{{"count", numbers.count}, {"not_finite", numbers.notFinite}};
        entry["last"] =
            std::isfinite(numbers.last) ? nlohmann::json(numbers.last) : nlohmann::json();
        if (summary.hasFinite) {
            entry["min"] = numbers.minimum;
            entry["max"] = numbers.maximum;
            entry["step_min"] = numbers.stepOfMinimum;
            entry["step_max"] = numbers.stepOfMaximum;
        }
        all[name] = std::move(entry);
    }
    return all;
}

} // namespace vergence
