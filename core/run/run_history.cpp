#include "core/run/run_history.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence {

namespace {

constexpr std::size_t kSliceBytes = 256 << 10; // about 10 ms of parsing

/// Points of a slice; the order within each series is kept.
std::vector<MetricPoint> pointsOf(const MetricStore& store)
{
    std::vector<MetricPoint> points;
    for (const std::string& name : store.names()) {
        const Series& series = *store.find(name);
        for (std::size_t i = 0; i < series.size(); ++i)
            points.push_back({series.steps()[i], series.walls()[i], name, series.values()[i]});
    }
    return points;
}

/// `text` without its first `lines` lines.
std::string_view withoutLines(std::string_view text, std::int64_t lines)
{
    for (; lines > 0 && !text.empty(); --lines)
        text.remove_prefix(text.find('\n') + 1);
    return text;
}

LogLine logLineOf(std::string_view line)
{
    const auto entry = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
    const auto text = [&](const char* key) {
        const auto found = entry.is_object() ? entry.find(key) : entry.end();
        return found != entry.end() && found->is_string() ? found->get<std::string>()
                                                          : std::string();
    };
    if (!entry.is_object())
        return {{}, "info", "log", std::string(line)};
    return {text("time"), text("level"), text("area"), text("text")};
}

} // namespace

RunHistory::RunHistory(const RunFolder& folder)
    : m_metricsPath(folder.metrics().string()),
      m_metricTail(folder.metrics(), 1),
      m_logTail(folder.log(), 0)
{
}

void RunHistory::expectLive(std::int64_t metricLines, std::int64_t logLines)
{
    m_liveFrom = metricLines;
    m_liveLogFrom = logLines;
}

void RunHistory::expectNothing()
{
    m_liveFrom = m_liveLogFrom = -1;
    m_early.clear();
    m_earlyLog.clear();
}

void RunHistory::restart()
{
    expectNothing();
    m_metricTail.restart();
    m_metrics = {};
    m_points = 0;
    m_isDamaged = false;
    // The log only grows, so what was heard of it stays heard.
}

void RunHistory::readMetrics(News& news)
{
    if (m_isDamaged || (m_liveFrom >= 0 && m_points >= m_liveFrom))
        return;
    const LineTail::Slice slice = m_metricTail.read(kSliceBytes);
    const std::int64_t end = slice.first + slice.count;
    news.hasMore |= slice.hasMore;
    if (end <= m_points)
        return;
    const std::string_view fresh = withoutLines(slice.text, m_points - slice.first);
    m_points = end;
    try {
        m_metrics.append(pointsOf(
            MetricStore::fromCsv(MetricStore::csvHeader() + std::string(fresh), m_metricsPath)));
        news.hasMetrics = true;
    } catch (const InputError& error) {
        m_isDamaged = true;
        news.problem = error.what();
    }
}

void RunHistory::readLog(News& news)
{
    if (m_liveLogFrom >= 0 && m_logLines >= m_liveLogFrom)
        return;
    const LineTail::Slice slice = m_logTail.read(kSliceBytes);
    const std::int64_t end = slice.first + slice.count;
    news.hasMore |= slice.hasMore;
    std::string_view fresh = withoutLines(slice.text, m_logLines - slice.first);
    while (!fresh.empty()) {
        const std::size_t newline = fresh.find('\n');
        news.log.push_back(logLineOf(fresh.substr(0, newline)));
        fresh.remove_prefix(newline + 1);
    }
    m_logLines = std::max(m_logLines, end);
}

/// Takes live messages, as far as the files have caught up with them.
void RunHistory::settle(News& news)
{
    while (!m_early.empty()) {
        Early& early = m_early.front();
        if (early.first > m_points && !m_isDamaged) {
            m_liveFrom = std::max(m_liveFrom, early.first); // what lies between is in the file
            break;
        }
        const std::int64_t known = std::max<std::int64_t>(m_points - early.first, 0);
        const auto count = static_cast<std::int64_t>(early.points.size());
        if (known < count) {
            early.points.erase(early.points.begin(), early.points.begin() + known);
            m_metrics.append(early.points);
            m_points = early.first + count;
            news.hasMetrics = true;
        }
        m_early.pop_front();
    }
    while (!m_earlyLog.empty() && m_logLines >= m_liveLogFrom) {
        auto& [index, line] = m_earlyLog.front();
        if (index >= m_logLines) {
            m_logLines = index + 1;
            news.log.push_back(std::move(line));
        }
        m_earlyLog.pop_front();
    }
}

RunHistory::News RunHistory::readFiles()
{
    News news;
    readMetrics(news);
    readLog(news);
    settle(news);
    return news;
}

bool RunHistory::isBehind() const
{
    return m_points < m_liveFrom || m_logLines < m_liveLogFrom;
}

RunHistory::News RunHistory::hearPoints(std::int64_t first, std::vector<MetricPoint> points)
{
    News news;
    m_early.push_back({first, std::move(points)});
    settle(news);
    return news;
}

RunHistory::News RunHistory::hearLog(std::int64_t index, LogLine line)
{
    News news;
    m_earlyLog.emplace_back(index, std::move(line));
    settle(news);
    return news;
}

} // namespace vergence
