#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/artifact/run_folder.h"
#include "core/base/file.h"
#include "core/run/metric_log.h"
#include "core/run/outbox.h"

namespace vergence {

/// Appends to metrics.csv, events.jsonl and log.jsonl. What cannot be written stays in memory and
/// is tried again.
class RunJournal {
public:
    /// Counts the log lines of earlier parts of the run. Throws InputError.
    RunJournal(RunFolder folder, MetricLog& metrics);

    /// Opens the files and starts the metric log. Of an earlier part of this run the first
    /// `keptLines` lines of numbers stay; later ones, which a resumed run repeats, move to
    /// metrics.superseded.csv. Throws OutputError, InputError.
    void open(double alreadyElapsed, std::int64_t keptLines);
    bool isOpen() const;
    void add(std::vector<std::string> events, std::vector<std::string> logs);
    /// Writes everything; throws OutputError after keeping what is left. Any thread.
    void flush();
    std::int64_t logLines() const;

private:
    void appendAll(AppendFile& file, std::vector<std::string>& lines, std::int64_t* count);

    RunFolder m_folder;
    MetricLog& m_metrics;
    mutable std::mutex m_lineMutex;
    std::vector<std::string> m_events, m_logs;
    std::int64_t m_logLines = 0;
    // Orders the two threads that may flush: the main one at 20 Hz, the run thread before a
    // checkpoint. Nobody else waits for it, record() in particular does not.
    mutable std::mutex m_fileMutex;
    std::unique_ptr<AppendFile> m_metricsFile, m_eventsFile, m_logFile;
};

} // namespace vergence
