#include "app/cli/idle_runs.h"

#include <map>

#include <fmt/format.h>

#include "core/artifact/remote_run.h"
#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/cluster/run_placement.h"
#include "core/run/run_state.h"

namespace vergence::cli {

namespace {

void requireHere(const RunFolder& run)
{
    if (const auto remote = readRemoteRun(run))
        throw Error(fmt::format("The run {} is on {}, and what is here is a copy; `vergence fetch "
                                "{} --home` brings it to this computer first.",
                                run.id(), remote->login, shellWord(run.root.string())),
                    ExitCode::Usage);
}

void requireNoWorker(const RunFolder& run)
{
    const RunStatus status = readStatus(run);
    if (isGoingOn(run, status))
        throw Error(fmt::format("The run {} is still going on{}; stop it first.", run.id(),
                                status.host.empty() ? "" : " on " + status.host),
                    ExitCode::Usage);
}

[[noreturn]] void throwWaits(const RunFolder& run, const Job& job, const std::string& state)
{
    throw Error(fmt::format("The run {} is still in the queue of {} as job {} ({}); `vergence "
                            "cancel {}` takes it out.",
                            run.id(), job.target, job.slurmId(), state,
                            shellWord(run.root.string())),
                ExitCode::Usage);
}

/// Of a computer with lanes: its process may not have said a word yet.
void requireNotInLine(const RunFolder& run, const Job& job)
{
    const auto places = askQueues({run}).runs;
    const auto place = places.find(run.root);
    if (place != places.end() && place->second.state == RunState::Queued)
        throwWaits(run, job, place->second.text);
}

using Queues = std::map<std::string, std::map<std::string, JobState>>; ///< by login

void requireNotQueued(const RunFolder& run, const Job& job, Queues& queues)
{
    if (!queues.contains(job.login))
        queues[job.login] = queuedJobs(job.login);
    const auto& queue = queues[job.login];
    if (const auto state = queue.find(job.slurmId()); state != queue.end())
        throwWaits(run, job, state->second.slurmState);
}

} // namespace

void requireIdle(const std::vector<RunFolder>& runs)
{
    Queues queues;
    for (const RunFolder& run : runs) {
        requireHere(run);
        requireNoWorker(run);
        const auto job = readJob(run);
        if (job && job->scheduler == Scheduler::Lanes)
            requireNotInLine(run, *job);
        else if (job)
            requireNotQueued(run, *job, queues);
    }
}

} // namespace vergence::cli
