#include "core/run/run_control.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace vergence {

RunState RunControl::state() const
{
    const std::lock_guard lock(m_mutex);
    return m_state;
}

void RunControl::startAt(RunState state)
{
    const std::lock_guard lock(m_mutex);
    m_state = state;
}

bool RunControl::applyLocked(RunEvent event)
{
    const std::optional<RunState> after = next(m_state, event);
    if (!after)
        return false;
    if (*after != m_state) {
        m_state = *after;
        m_onChange(m_state);
    }
    m_changed.notify_all();
    return true;
}

bool RunControl::apply(RunEvent event)
{
    const std::lock_guard lock(m_mutex);
    return applyLocked(event);
}

bool RunControl::requestStop(ExitCode code)
{
    const std::lock_guard lock(m_mutex);
    const bool endsLingering = isFinal(m_state) && !m_stopRequested;
    if (!endsLingering && !applyLocked(RunEvent::StopRequested))
        return false;
    if (!m_stopRequested && !endsLingering)
        m_stopCode = code;
    m_stopRequested = true;
    m_changed.notify_all();
    return true;
}

bool RunControl::requestCheckpoint()
{
    const std::lock_guard lock(m_mutex);
    if (!applyLocked(RunEvent::CheckpointRequested))
        return false;
    m_wantsCheckpoint = true;
    return true;
}

void RunControl::abandon()
{
    requestStop(ExitCode::Success);
    const std::lock_guard lock(m_mutex);
    m_stopRequested = true;
    m_changed.notify_all();
}

void RunControl::failWith(std::exception_ptr error)
{
    const std::lock_guard lock(m_mutex);
    m_error = std::move(error);
    m_changed.notify_all();
}

std::optional<std::string>
RunControl::changeSetting(const std::string& key,
                          const std::function<std::optional<std::string>()>& change)
{
    const std::lock_guard lock(m_mutex);
    if (!isLive(m_state))
        return "The run has ended; settings can no longer change.";
    if (m_state == RunState::Stopping || m_state == RunState::Saving)
        return "The run is ending; settings can no longer change.";
    auto refusal = change();
    if (!refusal && std::ranges::find(m_changedSettings, key) == m_changedSettings.end())
        m_changedSettings.push_back(key);
    m_changed.notify_all();
    return refusal;
}

void RunControl::setView(const ViewInput& input)
{
    const std::lock_guard lock(m_mutex);
    m_view.merge(input);
    m_wantsView = true;
    m_changed.notify_all();
}

void RunControl::setWatched(bool watched)
{
    const std::lock_guard lock(m_mutex);
    if (watched && !m_isWatched)
        m_wantsView = true; // a new viewer wants a picture also where no step will bring one
    m_isWatched = watched;
    m_changed.notify_all();
}

void RunControl::requestView()
{
    const std::lock_guard lock(m_mutex);
    m_wantsView = true;
    m_changed.notify_all();
}

ExitCode RunControl::stopCode() const
{
    const std::lock_guard lock(m_mutex);
    return m_stopCode;
}

bool RunControl::isWatched() const
{
    const std::lock_guard lock(m_mutex);
    return m_isWatched;
}

RunControl::Wish RunControl::take()
{
    std::unique_lock lock(m_mutex);
    for (;;) {
        if (m_error)
            std::rethrow_exception(std::exchange(m_error, nullptr));
        if (m_state == RunState::Stopping || m_stopRequested)
            return Wish::Stop;
        if (!m_changedSettings.empty())
            return Wish::Configure;
        if (std::exchange(m_wantsView, false))
            return Wish::View;
        if (std::exchange(m_wantsCheckpoint, false))
            return Wish::Save;
        if (m_state == RunState::Pausing)
            applyLocked(RunEvent::PauseReached);
        if (m_state != RunState::Paused)
            return Wish::Step;
        m_changed.wait(lock);
    }
}

RunControl::Wish RunControl::takeAfterEnd(double seconds)
{
    using Clock = std::chrono::steady_clock;
    const auto patience =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::unique_lock lock(m_mutex);
    Clock::time_point deadline = Clock::now() + patience;
    for (;;) {
        if (m_stopRequested)
            return Wish::Stop;
        if (std::exchange(m_wantsView, false))
            return Wish::View;
        if (m_isWatched) {
            m_changed.wait(lock);
            deadline = Clock::now() + patience;
        } else if (m_changed.wait_until(lock, deadline) == std::cv_status::timeout &&
                   !m_isWatched && !m_wantsView) {
            return m_stopRequested ? Wish::Stop : Wish::Time;
        }
    }
}

RunControl::Wish RunControl::takeWhileDiskIsFull()
{
    std::unique_lock lock(m_mutex);
    for (;;) {
        if (m_state == RunState::Stopping)
            return Wish::Stop;
        if (std::exchange(m_wantsView, false))
            return Wish::View;
        if (m_state != RunState::Paused)
            return Wish::Step;
        m_changed.wait(lock);
    }
}

ViewInput RunControl::takeView()
{
    const std::lock_guard lock(m_mutex);
    return m_view;
}

std::vector<std::string> RunControl::takeChangedSettings()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_changedSettings, {});
}

} // namespace vergence
