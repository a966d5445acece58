#include "app/shell/log_intake.h"

#include <algorithm>
#include <iterator>

namespace vergence {

LogIntake::LogIntake(std::size_t perBatch, std::size_t waiting)
    : m_perBatch(std::max<std::size_t>(perBatch, 1)),
      m_waiting(std::max(waiting, m_perBatch))
{
}

void LogIntake::add(LogRow row)
{
    m_rows.push_back(std::move(row));
    if (m_rows.size() > m_waiting)
        dropOldest();
}

/// A batch at once, so that a flood does not pay for every line.
void LogIntake::dropOldest()
{
    const auto end = m_rows.begin() + static_cast<std::ptrdiff_t>(m_perBatch);
    const auto isKept = [](const LogRow& row) { return row.level >= LogLevel::Warning; };
    std::deque<LogRow> kept;
    std::copy_if(std::make_move_iterator(m_rows.begin()), std::make_move_iterator(end),
                 std::back_inserter(kept), isKept);
    const std::size_t dropped = m_perBatch - kept.size();
    m_rows.erase(m_rows.begin(), end);
    m_rows.insert(m_rows.begin(), std::make_move_iterator(kept.begin()),
                  std::make_move_iterator(kept.end()));
    m_dropped += dropped;
    m_droppedInAll += dropped;
}

std::vector<LogRow> LogIntake::take()
{
    std::vector<LogRow> batch;
    if (m_dropped > 0) {
        const QString time = m_rows.empty() ? QString() : m_rows.front().time;
        const QString text =
            LogModel::tr("%L1 lines came too fast and were left out here; the file has them all.")
                .arg(m_dropped);
        batch.push_back({time, "window", text, LogLevel::Info, 1});
        m_dropped = 0;
    }
    const auto end =
        m_rows.begin() + static_cast<std::ptrdiff_t>(std::min(m_rows.size(), m_perBatch));
    batch.insert(batch.end(), std::make_move_iterator(m_rows.begin()),
                 std::make_move_iterator(end));
    m_rows.erase(m_rows.begin(), end);
    return batch;
}

} // namespace vergence
