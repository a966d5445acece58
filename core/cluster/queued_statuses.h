#pragma once

#include <string>
#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence {

/// What is left of a status while the run waits for its next worker.
RunStatus waitingStatus(const RunStatus& before);

/// The statuses of runs on their way into a queue. Those that no worker has replaced are set back
/// at the end, unless they are kept.
class QueuedStatuses {
public:
    QueuedStatuses() = default;
    ~QueuedStatuses();
    QueuedStatuses(const QueuedStatuses&) = delete;
    QueuedStatuses& operator=(const QueuedStatuses&) = delete;

    /// Sets a run's status to Queued. Throws InputError, OutputError.
    void change(const RunFolder& run);
    void keep() { m_changes.clear(); }

private:
    struct Change {
        RunFolder run;
        std::string before, after;
    };
    static void restore(const Change& change) noexcept;

    std::vector<Change> m_changes;
};

} // namespace vergence
