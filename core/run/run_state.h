#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vergence {

struct RunFolder;
struct RunStatus;

/// States of a run. One table drives worker, window and command line (architecture.md §5.2).
enum class RunState {
    Draft,
    Queued,
    Starting,
    Running,
    Pausing,
    Paused,
    Stopping,
    Saving,
    Completed,
    Stopped,
    Failed,
    Crashed,
    Lost
};

/// What makes a run change its state: requests by people, and things that happen.
enum class RunEvent {
    Queue,
    Unqueue,
    Start,
    Prepared,
    PauseRequested,
    PauseReached,
    ResumeRequested,
    StopRequested,
    StopReached,
    CheckpointRequested,
    Saved,
    Finished,
    Failure,
    Crash,
    HeartbeatLost,
    Reattached,
    MarkedStopped,
    Extend
};

std::string nameOf(RunState state); ///< "Running"
std::string nameOf(RunEvent event);
std::optional<RunState> runStateFromName(const std::string& name);
/// The state after `event`, or nothing where the table does not allow it.
std::optional<RunState> next(RunState state, RunEvent event);
std::vector<RunEvent> allowedEvents(RunState state);
bool isLive(RunState state);  ///< a worker process should exist
bool isFinal(RunState state); ///< Completed, Stopped, Failed, Crashed, Lost
/// Whether somebody works on the run, or waits for a lane to do so: its process is alive here, or
/// is one of another computer (or of before a restart) that gave a sign of life within kSilence, by
/// the clock of the disk. Of a copy (see RemoteRun) the other side has said it.
bool isGoingOn(const RunFolder& folder, const RunStatus& status);
const std::vector<RunState>& allRunStates();
const std::vector<RunEvent>& allRunEvents();

} // namespace vergence
