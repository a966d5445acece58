#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "app/shell/log_model.h"

namespace vergence {

/// Lines on their way from a worker to the log: handed on in batches of bounded size, so that a
/// flood costs the window the same as a fast run does. Where lines come faster than they can be
/// shown, the oldest that are neither warnings nor errors are left out and counted; the file on
/// disk has them all.
class LogIntake {
public:
    explicit LogIntake(std::size_t perBatch = 1000, std::size_t waiting = 20'000);

    void add(LogRow row);
    bool isEmpty() const { return m_rows.empty() && m_dropped == 0; }
    /// At most `perBatch` lines, in order, led by one that says how many were left out.
    std::vector<LogRow> take();
    std::size_t droppedCount() const { return m_droppedInAll; }

private:
    void dropOldest();

    std::size_t m_perBatch, m_waiting;
    std::deque<LogRow> m_rows;
    std::size_t m_dropped = 0, m_droppedInAll = 0;
};

} // namespace vergence
