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

/// Takes the jobs of runs out of their queues. One answer per run. Throws InputError where a file
/// cannot be read or a queue does not answer; then some may have been cancelled.
std::vector<Cancellation> cancelRuns(const std::vector<RunFolder>& runs);

} // namespace vergence
