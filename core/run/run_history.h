#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/artifact/run_folder.h"
#include "core/base/log.h"
#include "core/metrics/metric_store.h"
#include "core/run/line_tail.h"

namespace vergence {

/// Numbers and log of a run as its files and the worker's live messages tell them, each once. A
/// line of a file and a live message are the same where they have the same index.
class RunHistory {
public:
    explicit RunHistory(const RunFolder& folder);

    const MetricStore& metrics() const { return m_metrics; }
    /// A worker has said how much it has written and will send everything from there.
    void expectLive(std::int64_t metricLines, std::int64_t logLines);
    /// The worker is gone: only the files tell.
    void expectNothing();
    /// Forgets all, for a worker that continues from a checkpoint.
    void restart();

    struct News {
        bool hasMetrics = false;
        bool hasMore = false; ///< call readFiles() again soon
        std::vector<LogLine> log;
        std::string problem; ///< damage in a file, told once
    };
    /// One slice of each file, at most some milliseconds of work.
    News readFiles();
    News hearPoints(std::int64_t first, std::vector<MetricPoint> points);
    News hearLog(std::int64_t index, LogLine line);
    /// Live messages wait until the files have caught up.
    bool isBehind() const;

private:
    void readMetrics(News& news);
    void readLog(News& news);
    void settle(News& news);

    std::string m_metricsPath;
    LineTail m_metricTail, m_logTail;
    MetricStore m_metrics;
    std::int64_t m_points = 0, m_logLines = 0;        ///< taken so far
    std::int64_t m_liveFrom = -1, m_liveLogFrom = -1; ///< -1: nothing comes live
    struct Early {
        std::int64_t first = 0;
        std::vector<MetricPoint> points;
    };
    std::deque<Early> m_early; ///< live points that wait for the file
    std::deque<std::pair<std::int64_t, LogLine>> m_earlyLog;
    bool m_isDamaged = false;
};

} // namespace vergence
