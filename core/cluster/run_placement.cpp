#include "core/cluster/run_placement.h"

#include <algorithm>
#include <fstream>

#include <QDateTime>

#include <fmt/format.h>

#include "core/artifact/run_lease.h"
#include "core/base/error.h"
#include "core/base/file_clock.h"
#include "core/cluster/shell.h"
#include "core/run/worker_log.h"

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

/// The last line of a worker's log, without the name of the program and the full stop; it may be
/// long, and only its end is read.
std::string endOfLog(const RunFolder& folder)
{
    constexpr std::streamoff kEnd = 1 << 16;
    constexpr std::string_view kProgram = "vergence: ";
    std::ifstream file(workerLog(folder), std::ios::binary | std::ios::ate);
    if (!file)
        return {};
    file.seekg(std::max<std::streamoff>(0, file.tellg() - kEnd));
    std::string line = lastLine(
        std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
    if (line.starts_with(kProgram))
        line.erase(0, kProgram.size());
    if (line.ends_with('.'))
        line.pop_back();
    return line;
}

/// A run whose process ended, or never began, while it waited for a lane.
void placeForsaken(RunPlacement& place, const RunFolder& folder, const RunStatus& status)
{
    place.state = RunState::Stopped;
    place.queue.phase = Phase::Ended;
    place.queue.reason = "its process ended";
    place.text = withDetail(place.state, place.queue.reason);
    const std::string words = endOfLog(folder);
    place.problem =
        fmt::format("Its process ended before the run {}{}{}.",
                    status.step == 0 ? "began" : "went on", words.empty() ? "" : ": ", words);
}

/// Whether the process of a run that waits should have been heard of.
bool isOverdue(const RunFolder& folder, const RunStatus& status)
{
    if (status.pid > 0)
        return true;
    const auto submitted = secondsSinceWritten(jobFile(folder)), sign = secondsSinceSign(folder);
    return submitted && *submitted > kSilence && sign && *sign > kSilence;
}

std::string clockText(double seconds)
{
    return QDateTime::fromSecsSinceEpoch(static_cast<qint64>(seconds))
        .toString("HH:mm")
        .toStdString();
}

Phase phaseOf(RunState state)
{
    if (state == RunState::Queued)
        return Phase::Pending;
    return isLive(state) ? Phase::Running : Phase::Ended;
}

struct QueueQuestion {
    RunFolder folder;
    RunStatus status;
    Job job;
};

/// Places a run of which no queue has to be asked; a question where one has to. Runs whose files
/// cannot be read are told elsewhere.
std::optional<QueueQuestion> placeOrAsk(const RunFolder& folder, QueueAnswers& answers)
{
    try {
        const RunStatus status = readStatus(folder);
        if (const auto remote = readRemoteRun(folder)) {
            answers.runs[folder.root] =
                placementThere(*remote, status, readJob(folder).value_or(Job{}));
            return std::nullopt;
        }
        const auto state = runStateFromName(status.state);
        const auto job =
            wantsQueue(status) || (state && isLive(*state)) ? readJob(folder) : std::nullopt;
        if (!job)
            return std::nullopt;
        if (job->scheduler == Scheduler::Slurm)
            return wantsQueue(status) ? std::optional(QueueQuestion{folder, status, *job})
                                      : std::nullopt;
        if (auto place = placementInLanes(folder, status, *job))
            answers.runs[folder.root] = std::move(*place);
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

std::optional<RunPlacement> placementInLanes(const RunFolder& folder, const RunStatus& status,
                                             const Job& job)
{
    const auto state = runStateFromName(status.state);
    if (!state || (*state != RunState::Queued && !isLive(*state)))
        return std::nullopt;
    RunPlacement place;
    place.job = job;
    place.state = *state;
    place.queue.phase = phaseOf(*state);
    const bool goesOn = isGoingOn(folder, status);
    if (*state == RunState::Queued) {
        if (!goesOn && isOverdue(folder, status)) {
            placeForsaken(place, folder, status);
        } else {
            place.queue.reason = status.phase;
            placeWaiting(place);
        }
    } else if (goesOn) {
        place.queue.node = status.host;
        place.text = onNode(place.state, status.host);
    } else {
        place.state = RunState::Lost;
        place.queue.phase = Phase::Ended;
        place.text = nameOf(place.state);
    }
    return place;
}

RunPlacement placementThere(const RemoteRun& remote, const RunStatus& status, const Job& job)
{
    RunPlacement place;
    place.job = job;
    place.job.target = remote.target;
    place.job.login = remote.login;
    const auto said = runStateFromName(remote.state);
    place.state = said ? *said : runStateFromName(status.state).value_or(RunState::Lost);
    place.text = said && !remote.text.empty() ? remote.text : nameOf(place.state);
    place.problem = remote.problem;
    place.queue.phase = phaseOf(place.state);
    if (remote.unreachedSince > 0) {
        place.queue.phase = Phase::Unknown;
        place.text += fmt::format(", not reached since {}", clockText(remote.unreachedSince));
    }
    return place;
}

QueueAnswers askQueues(const std::vector<RunFolder>& runs)
{
    QueueAnswers answers;
    std::map<std::string, std::vector<QueueQuestion>> byLogin;
    for (const RunFolder& run : runs)
        if (auto question = placeOrAsk(run, answers))
            byLogin[question->job.login].push_back(std::move(*question));
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
