#pragma once

#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence::cli {

/// Throws Error (ExitCode::Usage) where somebody works on one of the runs, a job of it waits to, or
/// it is a copy of one that is elsewhere. Asks each queue once.
void requireIdle(const std::vector<RunFolder>& runs);

} // namespace vergence::cli
