#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/run/run_state.h"
#include "core/view/view_input.h"

namespace vergence {

/// What main and run thread share: the state, the requests under way and the newest view input.
/// Requests come from any thread; take() is for the run thread. The listener hears every change of
/// state in order, under the lock: it must only move memory.
class RunControl {
public:
    explicit RunControl(std::function<void(RunState)> onChange) : m_onChange(std::move(onChange)) {}

    RunState state() const;
    void startAt(RunState state); ///< before the run thread exists
    /// False where the table forbids it.
    bool apply(RunEvent event);
    /// Stops; the first caller's code is what the process exits with. Ends lingering too.
    bool requestStop(ExitCode code);
    bool requestCheckpoint();
    /// Ends the run thread as soon as it allows, whatever the state.
    void abandon();
    /// Thrown from the next take(): the main thread could not write a file of the run.
    void failWith(std::exception_ptr error);
    /// Calls `change`, and where it refuses nothing, the run looks at the setting between two steps
    /// or before its last checkpoint. The refusal; one of its own for a run that ends.
    std::optional<std::string>
    changeSetting(const std::string& key,
                  const std::function<std::optional<std::string>()>& change);
    void setView(const ViewInput& input);
    void setWatched(bool watched);
    /// The run publishes its pictures again, also where no step will bring one.
    void requestView();

    bool stopRequested() const { return m_stopRequested; }
    ExitCode stopCode() const;
    bool isWatched() const;

    enum class Wish { Step, Stop, View, Save, Configure, Time };
    /// What to do between steps. Reaches the pause and waits in it; views and checkpoints are
    /// served meanwhile.
    Wish take();
    /// After the end: View, Stop, or Time when nobody watched for `seconds`.
    Wish takeAfterEnd(double seconds);
    /// Waits for the answer of people to a full disk: Step to try again as before, Stop to try one
    /// last time.
    Wish takeWhileDiskIsFull();
    /// All values that the viewer ever sent, newest of each key.
    ViewInput takeView();
    /// Settings that have changed since the last call, each once, in order.
    std::vector<std::string> takeChangedSettings();

private:
    bool applyLocked(RunEvent event);

    std::function<void(RunState)> m_onChange;
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    RunState m_state = RunState::Starting;
    std::atomic<bool> m_stopRequested{false};
    ExitCode m_stopCode = ExitCode::Success;
    bool m_wantsCheckpoint = false, m_wantsView = false, m_isWatched = false;
    ViewInput m_view;
    std::exception_ptr m_error;
    std::vector<std::string> m_changedSettings;
};

} // namespace vergence
