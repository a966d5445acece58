#include <array>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "core/cluster/slurm.h"
#include "core/cluster/slurm_states.h"

namespace vergence {

namespace {

using Phase = JobState::Phase;

struct StateName {
    const char* name;
    Phase phase;
    const char* reason; ///< of the job {} in that state; empty where the queue says more
};

constexpr const char* kHeld = "held; `scontrol release {}` lets it go on";
constexpr const char* kHeldAfterFailure =
    "held, because it could not be started; `scontrol release {}` lets it go on";

// Source: squeue(1) of Slurm 22.05 and 24.05, "Job state codes".
constexpr StateName kStates[] = {
    {"PENDING", Phase::Pending, ""},
    {"CONFIGURING", Phase::Pending, "its nodes start"},
    {"REQUEUED", Phase::Pending, "it queues again"},
    {"REQUEUE_FED", Phase::Pending, "it queues again"},
    {"REQUEUE_HOLD", Phase::Pending, kHeld},
    {"RESV_DEL_HOLD", Phase::Pending, "its reservation is gone"},
    {"SPECIAL_EXIT", Phase::Pending, kHeld},
    {"RUNNING", Phase::Running, ""},
    {"COMPLETING", Phase::Running, "it ends"},
    {"RESIZING", Phase::Running, ""},
    {"SIGNALING", Phase::Running, ""},
    {"STAGE_OUT", Phase::Running, "it ends"},
    {"STOPPED", Phase::Running, "stopped by a signal"},
    {"SUSPENDED", Phase::Running, "suspended"},
    {"COMPLETED", Phase::Ended, "it ended"},
    {"CANCELLED", Phase::Ended, "cancelled"},
    {"FAILED", Phase::Ended, ""},
    {"TIMEOUT", Phase::Ended, "its time was up"},
    {"DEADLINE", Phase::Ended, "its deadline passed"},
    {"NODE_FAIL", Phase::Ended, "its node failed"},
    {"BOOT_FAIL", Phase::Ended, "its node did not start"},
    {"LAUNCH_FAILED", Phase::Ended, "it could not be started"},
    {"RECONFIG_FAIL", Phase::Ended, "its node could not be set up"},
    {"OUT_OF_MEMORY", Phase::Ended, "out of memory; raise `memory` of the target"},
    {"PREEMPTED", Phase::Ended, "another job took its place"},
    {"REVOKED", Phase::Ended, "another cluster took it"},
};

const StateName* findState(const std::string& name)
{
    for (const StateName& state : kStates)
        if (name == state.name)
            return &state;
    return nullptr;
}

/// Exit codes of the script of a job, see slurmScript().
std::string exitText(int code, int signal)
{
    if (signal != 0)
        return fmt::format("ended by signal {}", signal);
    switch (code) {
    case 6:
        return "exit code 6; its node may not see the runs folder";
    case 126:
    case 127:
        return fmt::format("exit code {}; `vergence` cannot be started on its node", code);
    default:
        return fmt::format("exit code {}", code);
    }
}

/// Of the job {}. Source: squeue(1), "Job reason codes". Of several with the same begin the longer
/// comes first.
constexpr std::pair<const char*, const char*> kReasons[] = {
    {"AccountNotAllowed",
     "the partition does not take its account; cancel it and set another `account` or `partition`"},
    {"AssocGrp", "the account uses all that it may at a time"},
    {"AssocMax", "your jobs use all that they may at a time"},
    {"BadConstraints", "no node has what it asks for; cancel it and correct the target"},
    {"BeginTime", "it waits for its time to begin"},
    {"Cleaning", "its last attempt is being cleaned up"},
    {"DependencyNeverSatisfied", "a job that it waits for has failed"},
    {"Dependency", "it waits for another job"},
    {"InvalidAccount", "its account is not valid any more; cancel it and set another `account`"},
    {"InvalidQOS", "its quality of service is not valid any more; cancel it and set another `qos`"},
    {"JobArrayTaskLimit", "others of this submission go first"},
    {"JobHeldAdmin", "held by an administrator"},
    {"JobHeldUser", kHeld},
    {"Licenses", "it waits for a licence"},
    {"MaxMemPerLimit",
     "it asks for more memory than the partition allows; cancel it and set less `memory`"},
    {"NodeDown", "its node is down"},
    {"PartitionConfig",
     "the partition does not allow what it asks for; cancel it and ask for less of `time`, `cores` "
     "and `memory`, or set another `partition`"},
    {"PartitionDown", "the partition is down; wait, or cancel it and set another `partition`"},
    {"PartitionInactive",
     "the partition starts no jobs; wait, or cancel it and set another `partition`"},
    {"PartitionMinNodes",
     "the partition wants jobs of more nodes; cancel it and set another `partition`"},
    {"PartitionNodeLimit",
     "it asks for more nodes than the partition allows; cancel it and correct `extra`, or set "
     "another `partition`"},
    {"PartitionTimeLimit",
     "it asks for more time than the partition allows; cancel it and set a shorter `time`"},
    {"Priority", "other jobs go first"},
    {"QOSGrp", "its quality of service is used up at present"},
    {"QOSMax", "your jobs use all that they may at a time"},
    {"QOSMin", "its quality of service wants larger jobs; cancel it and set another `qos`"},
    {"QOSNotAllowed",
     "the partition does not take its quality of service; cancel it and set another `qos`"},
    {"QOS", "its quality of service does not allow more at present"},
    {"ReqNodeNotAvail", "nodes that it needs are not available"},
    {"Reservation", "it waits for its reservation"},
    {"Resources", "it waits for free nodes"},
    {"launch failed requeued held", kHeldAfterFailure},
    {"launch_failed_requeued_held", kHeldAfterFailure},
};

/// Limits of one job: "QOSMaxWallDurationPerJobLimit", "AssocMaxCpuPerNode"
bool isOfOneJob(const std::string& reason)
{
    return reason.find("PerJob") != std::string::npos || reason.ends_with("PerNode");
}

std::string ofJob(const char* words, const std::string& job)
{
    return fmt::format(fmt::runtime(words), job);
}

} // namespace

std::string pendingReasonText(const std::string& reason, const std::string& job)
{
    if (reason == "None" || reason == "(null)")
        return {};
    if (isOfOneJob(reason))
        return "it asks for more than one job of yours may have; cancel it and ask for less of "
               "`time`, `cores`, `memory` and `gpus`";
    for (const auto& [code, words] : kReasons)
        if (reason.starts_with(code))
            return ofJob(words, job);
    return reason;
}

namespace detail {

JobState jobStateOf(const std::string& job, const std::string& name, const std::string& reason,
                    const JobEnd& end)
{
    JobState state;
    state.slurmState = name.substr(0, name.find_first_of(" +")); // "CANCELLED by 1000"
    state.exitCode = end.exitCode;
    const StateName* known = findState(state.slurmState);
    if (known == nullptr) // of a later version
        return state;
    state.phase = known->phase;
    state.reason = ofJob(known->reason, job);
    if (state.slurmState == "PENDING")
        state.reason = pendingReasonText(reason, job);
    else if (state.slurmState == "FAILED")
        state.reason = exitText(end.exitCode, end.signal);
    return state;
}

} // namespace detail

} // namespace vergence
