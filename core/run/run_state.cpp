#include "core/run/run_state.h"

#include <algorithm>
#include <array>

#include "core/artifact/remote_run.h"
#include "core/artifact/run_folder.h"
#include "core/artifact/run_lease.h"
#include "core/base/error.h"

namespace vergence {

namespace {

struct StateName {
    RunState state;
    const char* name;
};

constexpr std::array kStateNames{
    StateName{RunState::Draft, "Draft"},         StateName{RunState::Queued, "Queued"},
    StateName{RunState::Starting, "Starting"},   StateName{RunState::Running, "Running"},
    StateName{RunState::Pausing, "Pausing"},     StateName{RunState::Paused, "Paused"},
    StateName{RunState::Stopping, "Stopping"},   StateName{RunState::Saving, "Saving"},
    StateName{RunState::Completed, "Completed"}, StateName{RunState::Stopped, "Stopped"},
    StateName{RunState::Failed, "Failed"},       StateName{RunState::Crashed, "Crashed"},
    StateName{RunState::Lost, "Lost"},
};

struct EventName {
    RunEvent event;
    const char* name;
};

constexpr std::array kEventNames{
    EventName{RunEvent::Queue, "Queue"},
    EventName{RunEvent::Unqueue, "Unqueue"},
    EventName{RunEvent::Start, "Start"},
    EventName{RunEvent::Prepared, "Prepared"},
    EventName{RunEvent::PauseRequested, "PauseRequested"},
    EventName{RunEvent::PauseReached, "PauseReached"},
    EventName{RunEvent::ResumeRequested, "ResumeRequested"},
    EventName{RunEvent::StopRequested, "StopRequested"},
    EventName{RunEvent::StopReached, "StopReached"},
    EventName{RunEvent::CheckpointRequested, "CheckpointRequested"},
    EventName{RunEvent::Saved, "Saved"},
    EventName{RunEvent::Finished, "Finished"},
    EventName{RunEvent::Failure, "Failure"},
    EventName{RunEvent::Crash, "Crash"},
    EventName{RunEvent::HeartbeatLost, "HeartbeatLost"},
    EventName{RunEvent::Reattached, "Reattached"},
    EventName{RunEvent::MarkedStopped, "MarkedStopped"},
    EventName{RunEvent::Extend, "Extend"},
};

struct Transition {
    RunState from;
    RunEvent event;
    RunState to;
};

using S = RunState;
using E = RunEvent;

/// The one table. PauseReached without a request is the worker pausing itself where the disk is
/// full; a resumed run then repeats what failed. A stop ends Stopped wherever it meets the run, and
/// a resume makes up for what it cut short; only one that comes when all is written (Stopping,
/// Saved) is too late.
constexpr std::array kTransitions{
    Transition{S::Draft, E::Queue, S::Queued},
    Transition{S::Draft, E::Start, S::Starting},
    Transition{S::Queued, E::Unqueue, S::Draft},
    Transition{S::Queued, E::Start, S::Starting},

    Transition{S::Starting, E::Prepared, S::Running},
    Transition{S::Starting, E::StopRequested, S::Stopping},
    Transition{S::Starting, E::Failure, S::Failed},
    Transition{S::Starting, E::Crash, S::Crashed},
    Transition{S::Starting, E::HeartbeatLost, S::Lost},

    Transition{S::Running, E::PauseRequested, S::Pausing},
    Transition{S::Running, E::PauseReached, S::Paused},
    Transition{S::Running, E::StopRequested, S::Stopping},
    Transition{S::Running, E::CheckpointRequested, S::Running},
    Transition{S::Running, E::Finished, S::Saving},
    Transition{S::Running, E::Failure, S::Failed},
    Transition{S::Running, E::Crash, S::Crashed},
    Transition{S::Running, E::HeartbeatLost, S::Lost},

    Transition{S::Pausing, E::PauseReached, S::Paused},
    Transition{S::Pausing, E::ResumeRequested, S::Running},
    Transition{S::Pausing, E::StopRequested, S::Stopping},
    Transition{S::Pausing, E::Finished, S::Saving},
    Transition{S::Pausing, E::Failure, S::Failed},
    Transition{S::Pausing, E::Crash, S::Crashed},
    Transition{S::Pausing, E::HeartbeatLost, S::Lost},

    Transition{S::Paused, E::ResumeRequested, S::Running},
    Transition{S::Paused, E::StopRequested, S::Stopping},
    Transition{S::Paused, E::CheckpointRequested, S::Paused},
    Transition{S::Paused, E::Failure, S::Failed},
    Transition{S::Paused, E::Crash, S::Crashed},
    Transition{S::Paused, E::HeartbeatLost, S::Lost},

    Transition{S::Stopping, E::PauseReached, S::Paused},
    Transition{S::Stopping, E::StopReached, S::Stopped},
    Transition{S::Stopping, E::Saved, S::Completed},
    Transition{S::Stopping, E::Failure, S::Failed},
    Transition{S::Stopping, E::Crash, S::Crashed},
    Transition{S::Stopping, E::HeartbeatLost, S::Lost},

    Transition{S::Saving, E::PauseReached, S::Paused},
    Transition{S::Saving, E::StopRequested, S::Stopping},
    Transition{S::Saving, E::Saved, S::Completed},
    Transition{S::Saving, E::Failure, S::Failed},
    Transition{S::Saving, E::Crash, S::Crashed},
    Transition{S::Saving, E::HeartbeatLost, S::Lost},

    Transition{S::Completed, E::Extend, S::Starting},
    Transition{S::Stopped, E::Extend, S::Starting},
    Transition{S::Stopped, E::ResumeRequested, S::Starting},
    Transition{S::Failed, E::ResumeRequested, S::Starting},
    Transition{S::Crashed, E::ResumeRequested, S::Starting},
    Transition{S::Crashed, E::MarkedStopped, S::Stopped},
    Transition{S::Lost, E::Reattached, S::Running},
    Transition{S::Lost, E::ResumeRequested, S::Starting},
    Transition{S::Lost, E::MarkedStopped, S::Stopped},
};

} // namespace

std::string nameOf(RunState state)
{
    const auto found = std::ranges::find(kStateNames, state, &StateName::state);
    return found != kStateNames.end() ? found->name : "Draft";
}

std::string nameOf(RunEvent event)
{
    const auto found = std::ranges::find(kEventNames, event, &EventName::event);
    return found != kEventNames.end() ? found->name : "";
}

std::optional<RunState> runStateFromName(const std::string& name)
{
    const auto found = std::ranges::find(kStateNames, name, &StateName::name);
    if (found == kStateNames.end())
        return std::nullopt;
    return found->state;
}

std::optional<RunState> next(RunState state, RunEvent event)
{
    for (const Transition& transition : kTransitions) {
        if (transition.from == state && transition.event == event)
            return transition.to;
    }
    return std::nullopt;
}

std::vector<RunEvent> allowedEvents(RunState state)
{
    std::vector<RunEvent> events;
    for (const Transition& transition : kTransitions) {
        if (transition.from == state)
            events.push_back(transition.event);
    }
    return events;
}

bool isLive(RunState state)
{
    return state >= RunState::Starting && state <= RunState::Saving;
}

bool isFinal(RunState state)
{
    return state >= RunState::Completed;
}

const std::vector<RunState>& allRunStates()
{
    static const std::vector<RunState> states = [] {
        std::vector<RunState> all;
        for (const StateName& entry : kStateNames)
            all.push_back(entry.state);
        return all;
    }();
    return states;
}

const std::vector<RunEvent>& allRunEvents()
{
    static const std::vector<RunEvent> events = [] {
        std::vector<RunEvent> all;
        for (const EventName& entry : kEventNames)
            all.push_back(entry.event);
        return all;
    }();
    return events;
}

namespace {

/// A worker should exist, or does exist and waits for a lane.
bool shouldHaveProcess(const RunStatus& status)
{
    const auto state = runStateFromName(status.state);
    return state && (isLive(*state) || (*state == RunState::Queued && status.pid > 0));
}

/// Nothing where the other side has not said how the run stands.
std::optional<bool> isGoingOnThere(const RunFolder& folder)
{
    try {
        const auto remote = readRemoteRun(folder);
        const auto state = remote ? runStateFromName(remote->state) : std::nullopt;
        return state ? std::optional(isLive(*state)) : std::nullopt;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

} // namespace

bool isGoingOn(const RunFolder& folder, const RunStatus& status)
{
    if (isRemote(folder))
        return isGoingOnThere(folder).value_or(shouldHaveProcess(status));
    if (isWorkerAlive(status))
        return true;
    if (!shouldHaveProcess(status) || isOfThisComputer(status))
        return false;
    const auto silence = secondsSinceSign(folder);
    return silence && *silence <= kSilence;
}

} // namespace vergence
