#pragma once

#include <string>
#include <vector>

#include "core/cluster/slurm.h"

namespace vergence {

/// The script of a run that waits for a lane of this computer: readable, kept as `job.sh` in the
/// run folder. It runs `vergence run RUN --resume --wait` with the lanes and the run's place in the
/// line.
std::string laneScript(const Target& target, const Submission& submission, std::size_t run,
                       const Job& job, const std::string& vergence);

/// What submitToSlurm() does, for the lanes of this computer: sets the status of each run to
/// Queued, writes job.json and job.sh of each, and starts a process for each that outlives this one
/// and waits for its turn. Throws InputError where a process cannot be started, OutputError.
std::vector<Job> submitToLanes(const Target& target, const Submission& submission,
                               const std::string& vergence);

} // namespace vergence
