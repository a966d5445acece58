#pragma once

#include <memory>
#include <string>

#include "core/run/run_controller.h"

namespace vergence {

struct WorkerOptions {
    bool showsProgress = true; ///< progress bar on stderr when it is a terminal
    bool jsonLines = false;    ///< every protocol message on stdout
    bool servesSocket = true;
};

/// Runs a controller to its end in this process: local socket, 1 Hz heartbeat and system samples
/// ("system/…" series), signals (see SignalWatch; SIGINT, SIGTERM, SIGHUP: save and stop, SIGUSR1:
/// the same with code 124, SIGUSR2: a checkpoint). Needs a QCoreApplication. Returns the exit code
/// (130 after SIGINT).
int runWorker(RunController& controller, const WorkerOptions& options);

} // namespace vergence
