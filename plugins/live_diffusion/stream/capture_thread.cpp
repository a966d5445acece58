#include "plugins/live_diffusion/stream/live_stream_impl.h"

#include <utility>

namespace vergence::live {

/// Waits while there is nothing to do; false on stop.
bool LiveStream::Impl::waitForTurn(const std::stop_token& stop)
{
    std::unique_lock lock(mutex);
    const auto hasRequest = [&] {
        return newSource || newPlace || newSpeed || (!hasEnded && (!isPaused || stepsAsked > 0));
    };
    if (!changed.wait(lock, stop, hasRequest))
        return false;
    interruption = std::stop_source();
    return true;
}

void LiveStream::Impl::applyPlayRequests()
{
    std::unique_ptr<Source> source;
    std::optional<double> place, speed;
    bool restarts = false;
    {
        const std::scoped_lock lock(mutex);
        source = std::move(newSource);
        place = std::exchange(newPlace, std::nullopt);
        speed = std::exchange(newSpeed, std::nullopt);
        restarts = std::exchange(restartsClock, false);
        hasEnded = hasEnded && !source && !place;
    }
    if (source) {
        player = Player(std::move(source), player.settings(), steadyClock());
        isNewSource = true;
    }
    if (speed) {
        PlaySettings play = player.settings();
        play.speed = *speed;
        player.setSettings(play);
    }
    if (place)
        player.seek(*place);
    if (restarts)
        player.restartClock();
}

void LiveStream::Impl::replaceLostSource(const std::string& why)
{
    SceneSettings orbits;
    orbits.height = orbits.width = 256;
    const std::string text = why + " Orbits takes its place.";
    player = Player(sceneSource(orbits, 25), player.settings(), steadyClock());
    isNewSource = true;
    post(StreamEvent::Kind::Message, text);
}

void LiveStream::Impl::push(SourceFrame&& frame)
{
    std::unique_lock lock(mutex);
    const std::size_t room = settings.waiting == Waiting::FifoOfTwo ? 2 : 1;
    ++drops.captured;
    stepsAsked -= isPaused && stepsAsked > 0;
    if (settings.waiting == Waiting::EveryFrame) {
        changed.wait(lock, [&] { return mailbox.size() < room || isStopped; });
    } else if (mailbox.size() == room) {
        isNewSource = isNewSource || mailbox.front().isNewSource;
        mailbox.pop_front();
        ++drops.replaced;
    }
    mailbox.push_back({std::move(frame), std::exchange(isNewSource, false)});
    lock.unlock();
    changed.notify_all();
}

void LiveStream::Impl::captureOne(const std::stop_token& interrupted)
{
    if (auto frame = player.next(interrupted)) {
        push(std::move(*frame));
        return;
    }
    if (interrupted.stop_requested())
        return;
    {
        const std::scoped_lock lock(mutex);
        hasEnded = true;
    }
    post(StreamEvent::Kind::Ended, player.source().info().name + " is over.");
    changed.notify_all();
    finished.notify_all();
}

void LiveStream::Impl::capture(const std::stop_token& stop)
{
    while (waitForTurn(stop)) {
        try {
            applyPlayRequests();
            std::stop_token interrupted;
            {
                const std::scoped_lock lock(mutex);
                interrupted = interruption.get_token();
                if (stop.stop_requested())
                    return;
                if (hasEnded || (isPaused && stepsAsked == 0))
                    continue;
            }
            captureOne(interrupted);
        } catch (const std::exception& error) { // the source vanished
            replaceLostSource(error.what());
        }
    }
}

} // namespace vergence::live
