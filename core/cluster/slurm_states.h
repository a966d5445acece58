#pragma once

#include <string>

#include "core/cluster/slurm.h"

namespace vergence::detail {

/// From the state and the pending reason as Slurm's commands print them, and how an ended job
/// ended. Phase Unknown for a state of a later version.
JobState jobStateOf(const std::string& name, const std::string& reason, int exitCode, int signal);

} // namespace vergence::detail
