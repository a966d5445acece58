#include "plugins/live_diffusion/sources/player.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace vergence::live {

namespace {

/// Delay that is made up for by hurrying; more of it moves all later frames.
constexpr double kMostHurry = 1;

void check(const PlaySettings& settings)
{
    expects(settings.speed > 0 && settings.speed <= 16, "player: a speed above 0, up to 16");
    expects(settings.fixedFps >= 0 && settings.fixedFps <= 1000,
            "player: up to 1000 frames a second");
}

} // namespace

PlayClock steadyClock()
{
    return {steadySeconds, [](double until, const std::stop_token& stop) {
                std::mutex mutex;
                std::condition_variable_any stopped;
                std::unique_lock lock(mutex);
                const std::chrono::duration<double> left(until - steadySeconds());
                stopped.wait_for(lock, stop, left, [] { return false; });
            }};
}

Player::Player(std::unique_ptr<Source> source, const PlaySettings& settings, PlayClock clock)
    : m_source(std::move(source)),
      m_settings(settings),
      m_clock(std::move(clock))
{
    expects(m_source != nullptr, "player: a source");
    check(settings);
}

void Player::setSettings(const PlaySettings& settings)
{
    check(settings);
    m_settings = settings;
}

void Player::seek(double seconds)
{
    m_source->seek(seconds);
    m_waiting.reset();
    m_gaveAny = false;
    m_jumped = true;
}

double Player::dueAfterLast(const SourceFrame& frame) const
{
    if (m_settings.fixedFps > 0)
        return m_due + 1 / m_settings.fixedFps;
    return m_due + (m_jumped ? m_lasts : frame.seconds - m_seconds) / m_settings.speed;
}

std::optional<SourceFrame> Player::fetch(const std::stop_token& stop)
{
    if (m_waiting)
        return std::exchange(m_waiting, std::nullopt);
    auto frame = m_source->next(stop);
    const bool mayRepeat = m_settings.loops && m_gaveAny && !m_source->info().isLive;
    if (!frame && mayRepeat && !stop.stop_requested()) {
        seek(0);
        ++m_rounds;
        frame = m_source->next(stop);
    }
    m_gaveAny = m_gaveAny || frame;
    return frame;
}

std::optional<SourceFrame> Player::next(const std::stop_token& stop)
{
    auto frame = fetch(stop);
    if (!frame || !m_settings.isPaced || m_source->info().isLive)
        return frame;
    const double now = m_clock.now();
    double due = m_hasLast ? dueAfterLast(*frame) : now;
    if (now - due > kMostHurry)
        due = now;
    if (due > now)
        m_clock.sleepUntil(due, stop);
    if (stop.stop_requested()) {
        m_waiting = std::move(frame);
        return std::nullopt;
    }
    frame->captured = m_clock.now();
    m_hasLast = true;
    m_jumped = false;
    m_due = due;
    m_seconds = frame->seconds;
    m_lasts = frame->lasts;
    return frame;
}

} // namespace vergence::live
