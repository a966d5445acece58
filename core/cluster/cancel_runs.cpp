#include "core/cluster/cancel_runs.h"

#include "core/cluster/run_placement.h"

namespace vergence {

namespace {

struct RunToCancel {
    std::size_t index; ///< in the list of runs
    Job job;
};

using RunsByLogin = std::map<std::string, std::vector<RunToCancel>>;

/// Those that a queue may hold; the answers of the others.
RunsByLogin runsToCancel(const std::vector<RunFolder>& runs, std::vector<Cancellation>& answers)
{
    RunsByLogin found;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto job = readJob(runs[i]);
        if (!job)
            answers[i] = Cancellation::HasNoJob;
        else if (wantsQueue(readStatus(runs[i])))
            found[job->login].push_back({i, *job});
    }
    return found;
}

/// A worker that began after all has replaced the status of a run that waited.
void markCancelled(const RunFolder& run)
{
    RunStatus status = readStatus(run);
    if (status.state != nameOf(RunState::Queued))
        return;
    status.state = nameOf(RunState::Stopped);
    status.problem =
        status.step == 0 ? "cancelled before it began" : "cancelled while it waited to go on";
    writeStatus(run, status);
}

/// `queue`: as it was before. Of a job that had left it Slurm knows how it ended; see RunPlacement.
Cancellation outcomeOf(const RunFolder& run, const Job& job,
                       const std::map<std::string, JobState>& queue)
{
    const auto state = queue.find(job.slurmId());
    if (state == queue.end())
        return Cancellation::HasEnded;
    if (state->second.phase == JobState::Phase::Running)
        return Cancellation::Stops;
    markCancelled(run);
    return Cancellation::LeftQueue;
}

} // namespace

std::vector<Cancellation> cancelRuns(const std::vector<RunFolder>& runs)
{
    std::vector<Cancellation> answers(runs.size(), Cancellation::HasEnded);
    for (const auto& [login, ofLogin] : runsToCancel(runs, answers)) {
        const auto queue = queuedJobs(login);
        std::vector<Job> jobs;
        for (const RunToCancel& run : ofLogin)
            if (queue.contains(run.job.slurmId()))
                jobs.push_back(run.job);
        cancelJobs(login, jobs);
        for (const RunToCancel& run : ofLogin)
            answers[run.index] = outcomeOf(runs[run.index], run.job, queue);
    }
    return answers;
}

} // namespace vergence
