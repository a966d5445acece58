#include "core/run/run_journal.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/metrics/metric_store.h"

namespace vergence {

namespace {

/// Position behind the header and `lines` whole lines; the torn end of a killed worker is never
/// included.
std::size_t endOfLines(const std::string& text, std::int64_t lines, std::int64_t& found)
{
    std::size_t end = 0;
    found = -1; // the header
    while (found < lines) {
        const std::size_t newline = text.find('\n', end);
        if (newline == std::string::npos)
            break;
        end = newline + 1;
        ++found;
    }
    found = std::max<std::int64_t>(found, 0);
    return end;
}

/// Cuts metrics.csv back to `kept` lines and returns what stays.
std::string cutMetrics(const RunFolder& folder, std::int64_t kept, std::int64_t& lines)
{
    std::string text = readFile(folder.metrics());
    const std::size_t end = endOfLines(text, kept, lines);
    if (end == text.size())
        return text;
    const std::size_t whole = text.rfind('\n') + 1; // 0 where there is none
    if (whole > end)
        AppendFile(folder.root / "metrics.superseded.csv")
            .append(std::string_view(text).substr(end, whole - end));
    std::filesystem::resize_file(folder.metrics(), end);
    text.resize(end);
    return text;
}

std::int64_t countLines(const std::filesystem::path& path)
{
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        return 0;
    const std::string text = readFile(path);
    return std::count(text.begin(), text.end(), '\n');
}

} // namespace

RunJournal::RunJournal(RunFolder folder, MetricLog& metrics)
    : m_folder(std::move(folder)),
      m_metrics(metrics),
      m_logLines(countLines(m_folder.log()))
{
}

void RunJournal::open(double alreadyElapsed, std::int64_t keptLines)
{
    std::error_code ignored;
    std::int64_t lines = 0;
    std::string text;
    if (std::filesystem::exists(m_folder.metrics(), ignored))
        text = cutMetrics(m_folder, keptLines, lines);
    const std::scoped_lock lock(m_fileMutex, m_lineMutex);
    m_metricsFile = std::make_unique<AppendFile>(m_folder.metrics());
    if (text.empty())
        m_metricsFile->append(MetricStore::csvHeader());
    m_eventsFile = std::make_unique<AppendFile>(m_folder.events());
    m_logFile = std::make_unique<AppendFile>(m_folder.log());
    m_metrics.start(alreadyElapsed, lines,
                    text.empty() ? MetricStore()
                                 : MetricStore::fromCsv(text, m_folder.metrics().string()));
}

bool RunJournal::isOpen() const
{
    const std::lock_guard lock(m_fileMutex);
    return m_logFile != nullptr;
}

void RunJournal::add(std::vector<std::string> events, std::vector<std::string> logs)
{
    const std::lock_guard lock(m_lineMutex);
    std::ranges::move(events, std::back_inserter(m_events));
    std::ranges::move(logs, std::back_inserter(m_logs));
}

std::int64_t RunJournal::logLines() const
{
    const std::lock_guard lock(m_lineMutex);
    return m_logLines;
}

void RunJournal::appendAll(AppendFile& file, std::vector<std::string>& lines, std::int64_t* count)
{
    std::vector<std::string> taken;
    {
        const std::lock_guard lock(m_lineMutex);
        taken.swap(lines);
    }
    std::string bytes;
    for (const std::string& line : taken)
        bytes += line;
    try {
        file.append(bytes);
    } catch (...) {
        const std::lock_guard lock(m_lineMutex);
        lines.insert(lines.begin(), std::make_move_iterator(taken.begin()),
                     std::make_move_iterator(taken.end()));
        throw;
    }
    const std::lock_guard lock(m_lineMutex);
    if (count != nullptr)
        *count += static_cast<std::int64_t>(taken.size());
}

void RunJournal::flush()
{
    const std::lock_guard lock(m_fileMutex);
    if (!m_logFile)
        return;
    MetricLog::Points points = m_metrics.takeUnwritten();
    try {
        m_metricsFile->append(MetricStore::toCsv(points.points));
        m_metrics.written(points);
    } catch (...) {
        m_metrics.returned(std::move(points));
        throw;
    }
    appendAll(*m_eventsFile, m_events, nullptr);
    appendAll(*m_logFile, m_logs, &m_logLines);
}

} // namespace vergence
