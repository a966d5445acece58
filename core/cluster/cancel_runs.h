#pragma once

#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence {

/// What becomes of a run that is cancelled.
enum class Cancellation {
    LeftQueue, ///< Stopped, it never began or never went on
    Stops,     ///< it saves and stops
    HasEnded,  ///< before; nothing was done
    HasNoJob   ///< it was never submitted; nothing was done
};

/// Takes the jobs of runs out of their queues; processes that wait for lanes are asked to end, and
/// waited for. One answer per run. Throws InputError where a file cannot be read, a queue or
/// another computer does not answer; then some may have been cancelled.
std::vector<Cancellation> cancelRuns(const std::vector<RunFolder>& runs);

/// Notes that a run in a queue was cancelled. A worker that began after all has replaced its
/// status, which stays. Throws InputError, OutputError.
void markCancelled(const RunFolder& run);

} // namespace vergence
