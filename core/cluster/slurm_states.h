#pragma once

#include <string>

#include "core/cluster/slurm.h"

namespace vergence::detail {

struct JobEnd {
    int exitCode = 0, signal = 0;
};

/// Of a job (see Job::slurmId()): from its state and its pending reason as Slurm's commands print
/// them, and how it ended. Phase Unknown for a state of a later version.
JobState jobStateOf(const std::string& job, const std::string& name, const std::string& reason,
                    const JobEnd& end = {});

} // namespace vergence::detail
