#include "core/cluster/cancel_runs.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/cluster/remote_submit.h"
#include "core/cluster/run_placement.h"
#include "core/run/request_box.h"

namespace vergence {

namespace {

struct RunToCancel {
    std::size_t index; ///< in the list of runs
    Job job;
};

/// Runs by who is asked; the answers of the others.
struct CancelPlan {
    std::map<std::string, std::vector<RunToCancel>> ofSlurm; ///< by login
    std::vector<RunToCancel> ofLanes;
    std::vector<std::size_t> ofOtherDisks;
    std::vector<Cancellation> answers;
};

CancelPlan planFor(const std::vector<RunFolder>& runs)
{
    CancelPlan plan;
    plan.answers.assign(runs.size(), Cancellation::HasEnded);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (isRemote(runs[i])) {
            plan.ofOtherDisks.push_back(i);
            continue;
        }
        const auto job = readJob(runs[i]);
        if (!job)
            plan.answers[i] = Cancellation::HasNoJob;
        else if (job->scheduler == Scheduler::Lanes)
            plan.ofLanes.push_back({i, *job});
        else if (wantsQueue(readStatus(runs[i])))
            plan.ofSlurm[job->login].push_back({i, *job});
    }
    return plan;
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

void cancelInSlurm(const std::vector<RunFolder>& runs, CancelPlan& plan)
{
    for (const auto& [login, ofLogin] : plan.ofSlurm) {
        const auto queue = queuedJobs(login);
        std::vector<Job> jobs;
        for (const RunToCancel& run : ofLogin)
            if (queue.contains(run.job.slurmId()))
                jobs.push_back(run.job);
        cancelJobs(login, jobs);
        for (const RunToCancel& run : ofLogin)
            plan.answers[run.index] = outcomeOf(runs[run.index], run.job, queue);
    }
}

/// By a signal on this computer, by a file on another. A second signal would end a worker without a
/// checkpoint.
void askToEnd(const RunFolder& run, const RunStatus& status)
{
    if (isWorkerAlive(status)) {
        if (status.state != nameOf(RunState::Stopping))
            ::kill(status.pid, SIGTERM);
    } else if (isGoingOn(run, status)) {
        postRequest(run, fmt::format("cancel-{}-{}", currentHost(), ::getpid()),
                    {{"type", "stop"}, {"id", 1}});
    }
}

/// False while the run waits in a process that has been asked to end, or is about to begin.
bool hasLeftLine(const RunFolder& run, const RunStatus& status)
{
    if (status.state != nameOf(RunState::Queued))
        return true;
    if (isGoingOn(run, status))
        return false;
    try {
        const RunLease lease(run); // whose process has not begun finds it cancelled
        markCancelled(run);
        return true;
    } catch (const RunTaken&) {
        return false;
    }
}

/// Of a run that waited for a lane. A process that begins only now is asked then.
Cancellation awaitEnd(const RunFolder& run, int askedProcess)
{
    constexpr double kPatience = 10; // s
    constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
    const double end = steadySeconds() + kPatience;
    RunStatus status = readStatus(run);
    while (!hasLeftLine(run, status) && steadySeconds() < end) {
        if (status.pid != askedProcess)
            askToEnd(run, status);
        askedProcess = status.pid;
        std::this_thread::sleep_for(kBetweenLooks);
        status = readStatus(run);
    }
    const auto state = runStateFromName(status.state);
    return state && isLive(*state) ? Cancellation::Stops : Cancellation::LeftQueue;
}

/// All are asked before the first is waited for.
void cancelInLanes(const std::vector<RunFolder>& runs, CancelPlan& plan)
{
    std::map<std::size_t, int> waiting; // index of a run, process that was asked
    for (const RunToCancel& run : plan.ofLanes) {
        const RunFolder& folder = runs[run.index];
        const RunStatus status = readStatus(folder);
        const auto state = runStateFromName(status.state);
        const bool works = state && isLive(*state) && isGoingOn(folder, status);
        if (state == RunState::Queued)
            waiting[run.index] = status.pid;
        else if (works)
            plan.answers[run.index] = Cancellation::Stops;
        else
            continue;
        askToEnd(folder, status);
    }
    for (const auto& [index, process] : waiting)
        plan.answers[index] = awaitEnd(runs[index], process);
}

void cancelOnOtherDisks(const std::vector<RunFolder>& runs, CancelPlan& plan)
{
    if (plan.ofOtherDisks.empty())
        return;
    std::vector<RunFolder> copies;
    for (const std::size_t index : plan.ofOtherDisks)
        copies.push_back(runs[index]);
    const auto answers = cancelThere(copies);
    for (std::size_t i = 0; i < copies.size(); ++i)
        plan.answers[plan.ofOtherDisks[i]] = answers.at(i);
}

} // namespace

void markCancelled(const RunFolder& run)
{
    RunStatus status = readStatus(run);
    if (status.state != nameOf(RunState::Queued))
        return;
    status.state = nameOf(RunState::Stopped);
    status.phase.clear();
    status.problem =
        status.step == 0 ? "cancelled before it began" : "cancelled while it waited to go on";
    writeStatus(run, status);
}

std::vector<Cancellation> cancelRuns(const std::vector<RunFolder>& runs)
{
    CancelPlan plan = planFor(runs);
    cancelInSlurm(runs, plan);
    cancelInLanes(runs, plan);
    cancelOnOtherDisks(runs, plan);
    return plan.answers;
}

} // namespace vergence
