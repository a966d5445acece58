#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/remote_run.h"
#include "core/artifact/run_folder.h"
#include "core/cluster/slurm.h"
#include "core/run/run_state.h"

namespace vergence {

/// Where a run with a job stands: what its folder and the queue say, in one.
struct RunPlacement {
    RunState state = RunState::Queued;
    std::string text;    ///< for people: "Queued (other jobs go first)", "Running on n1"
    std::string problem; ///< why it failed or stopped, where the queue alone knows; else empty
    Job job;
    JobState queue;
};

/// Whether the queue of Slurm may know more of a run with a job than its folder: the run waits or
/// works, or has stopped and may have been put back by Slurm.
bool wantsQueue(const RunStatus& status);

/// `isGoingOn`: see core/run/run_state.h.
RunPlacement placementOf(const RunStatus& status, bool isGoingOn, const Job& job,
                         const JobState& queue);

/// Of a run that waits for a lane of a computer or works on one: what folder and process tell.
/// Nothing where it does neither.
std::optional<RunPlacement> placementInLanes(const RunFolder& folder, const RunStatus& status,
                                             const Job& job);

/// Of a run on the disk of another computer, of which `status` is a copy: what that one said last.
RunPlacement placementThere(const RemoteRun& remote, const RunStatus& status, const Job& job);

struct QueueAnswers {
    std::map<std::filesystem::path, RunPlacement> runs; ///< by RunFolder::root
    std::vector<std::string> problems;                  ///< of queues that do not answer
};

/// Where runs with a job stand that are not over, and all of other computers' disks. Asks the queue
/// of Slurm, once per login, for those that want it; where it does not answer they are placed as
/// their folder says. Blocks.
QueueAnswers askQueues(const std::vector<RunFolder>& runs);

} // namespace vergence
