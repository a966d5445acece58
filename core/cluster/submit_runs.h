#pragma once

#include <string>
#include <vector>

#include "core/cluster/slurm.h"

namespace vergence {

/// Puts runs where the target's scheduler decides on them: submitToSlurm() or, on this computer,
/// submitToLanes().
std::vector<Job> submitRuns(const Target& target, const Submission& submission,
                            const std::string& vergence);

} // namespace vergence
