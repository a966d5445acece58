#include "core/cluster/run_placement.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

using Phase = JobState::Phase;

std::string withDetail(RunState state, const std::string& detail)
{
    return detail.empty() ? nameOf(state) : fmt::format("{} ({})", nameOf(state), detail);
}

std::string onNode(RunState state, const std::string& node)
{
    return node.empty() ? nameOf(state) : fmt::format("{} on {}", nameOf(state), node);
}

/// A run that nobody works on and whose job waits.
void placeWaiting(RunPlacement& place)
{
    place.state = RunState::Queued;
    place.text = withDetail(place.state, place.queue.reason);
}

/// A run whose job works, though its worker may not have written yet.
void placeWorking(RunPlacement& place)
{
    const bool ends = place.queue.slurmState == "COMPLETING";
    if (!isLive(place.state))
        place.state = ends ? RunState::Queued : RunState::Starting;
    place.text = place.queue.reason.empty() ? onNode(place.state, place.queue.node)
                                            : withDetail(place.state, place.queue.reason);
}

/// A run that its folder takes for waiting or working, and whose job is gone.
void placeLeft(RunPlacement& place, bool hasBegun)
{
    const bool wasTakenOut =
        place.queue.slurmState == "CANCELLED" || place.queue.slurmState == "PREEMPTED";
    if (hasBegun && place.queue.slurmState.empty())
        return; // Lost, as the folder says
    place.state = wasTakenOut ? RunState::Stopped : RunState::Failed;
    place.text = withDetail(place.state, place.queue.reason);
    place.problem = fmt::format(
        "Its job {} {}: {}.", place.job.slurmId(),
        hasBegun ? "ended before the run could" : "ended before the run began", place.queue.reason);
}

struct QueueQuestion {
    RunFolder folder;
    RunStatus status;
    Job job;
};

/// Nothing for a run whose files cannot be read: they are told elsewhere.
std::optional<QueueQuestion> questionOf(const RunFolder& folder)
{
    try {
        const RunStatus status = readStatus(folder);
        if (!wantsQueue(status))
            return std::nullopt;
        if (const auto job = readJob(folder))
            return QueueQuestion{folder, status, *job};
    } catch (const InputError&) {
    }
    return std::nullopt;
}

/// Whether the folder takes the run for one that waits or works.
bool isUnderWay(const RunStatus& status)
{
    const auto state = runStateFromName(status.state);
    return state && (*state == RunState::Queued || isLive(*state));
}

/// The states of all jobs; of those that the queue has no more, how they ended.
std::map<std::string, JobState> statesOf(const std::string& login,
                                         const std::vector<QueueQuestion>& questions)
{
    std::map<std::string, JobState> states = queuedJobs(login);
    std::vector<Job> gone;
    for (const QueueQuestion& question : questions)
        if (!states.contains(question.job.slurmId()) && isUnderWay(question.status))
            gone.push_back(question.job);
    if (!gone.empty())
        states.merge(endedJobs(login, gone));
    return states;
}

} // namespace

bool wantsQueue(const RunStatus& status)
{
    const auto state = runStateFromName(status.state);
    const bool isOfJob = state && (isLive(*state) || *state == RunState::Stopped);
    return state == RunState::Queued || (isOfJob && !status.job.empty());
}

RunPlacement placementOf(const RunStatus& status, bool isGoingOn, const Job& job,
                         const JobState& queue)
{
    RunPlacement place;
    place.job = job;
    place.queue = queue;
    place.state = runStateFromName(status.state).value_or(RunState::Lost);
    const bool isQueued = place.state == RunState::Queued, hasBegun = isLive(place.state);
    if (queue.phase == Phase::Running && (isQueued || hasBegun)) {
        placeWorking(place);
        return place;
    }
    const bool isDeserted = hasBegun && !isGoingOn;
    if (isDeserted)
        place.state = RunState::Lost;
    place.text = nameOf(place.state);
    const bool mayGoOn = isQueued || isDeserted || place.state == RunState::Stopped;
    if (queue.phase == Phase::Pending && mayGoOn)
        placeWaiting(place);
    else if (queue.phase == Phase::Ended && (isQueued || isDeserted))
        placeLeft(place, isDeserted);
    return place;
}

QueueAnswers askQueues(const std::vector<RunFolder>& runs)
{
    std::map<std::string, std::vector<QueueQuestion>> byLogin;
    for (const RunFolder& run : runs)
        if (auto question = questionOf(run))
            byLogin[question->job.login].push_back(std::move(*question));
    QueueAnswers answers;
    for (const auto& [login, questions] : byLogin) {
        std::map<std::string, JobState> states;
        try {
            states = statesOf(login, questions);
        } catch (const InputError& error) {
            answers.problems.emplace_back(error.what());
        }
        for (const QueueQuestion& one : questions)
            answers.runs[one.folder.root] = placementOf(
                one.status, isGoingOn(one.folder, one.status), one.job, states[one.job.slurmId()]);
    }
    return answers;
}

} // namespace vergence
