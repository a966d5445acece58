#include "core/cluster/submit_runs.h"

#include "core/cluster/lane_jobs.h"

namespace vergence {

std::vector<Job> submitRuns(const Target& target, const Submission& submission,
                            const std::string& vergence)
{
    return target.scheduler == Scheduler::Lanes ? submitToLanes(target, submission, vergence)
                                                : submitToSlurm(target, submission, vergence);
}

} // namespace vergence
