#include "plugins/live_diffusion/stream/live_stream_impl.h"

#include <chrono>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

std::optional<Captured> LiveStream::Impl::waitForFrame(const std::stop_token& stop)
{
    std::unique_lock lock(mutex);
    isBusy = false;
    if (isOver())
        finished.notify_all();
    const auto isAwaited = [&] {
        return !mailbox.empty() || built || newLoopSettings || newDeadline || wantsReset;
    };
    const bool mayStall = !isPaused && !hasEnded;
    const bool came = changed.wait_for(
        lock, stop, std::chrono::duration<double>(settings.stallSeconds), isAwaited);
    if (stop.stop_requested())
        return std::nullopt;
    if (!came) {
        const bool stallsNow = mayStall && !isPaused && !hasEnded && !isStalled;
        lock.unlock();
        if (stallsNow) {
            isStalled = true;
            post(StreamEvent::Kind::Stalled, "The source gives no frames; the last one stays.");
        }
        return std::nullopt;
    }
    if (mailbox.empty())
        return std::nullopt;
    Captured captured = std::move(mailbox.front());
    mailbox.pop_front();
    isBusy = hasStarted = true;
    lock.unlock();
    changed.notify_all();
    if (isStalled)
        post(StreamEvent::Kind::Resumed, "The source gives frames again.");
    isStalled = false;
    return captured;
}

void LiveStream::Impl::swapLoop(BuiltLoop&& next)
{
    next.loop->adopt(*loop);
    loop = std::move(next.loop);
    if (next.ladder.number != ladder.number)
        keeper = DeadlineKeeper(next.ladder.rungs, keeper.settings());
    keeper.restartWindow();
    {
        const std::scoped_lock lock(mutex);
        ladder = std::move(next.ladder);
        cost = loop->network().cost();
    }
    post(StreamEvent::Kind::Rebuilt, "The new plan is in use.");
}

void LiveStream::Impl::applyLoopRequests()
{
    std::optional<BuiltLoop> next;
    std::optional<LoopSettings> wanted;
    std::optional<DeadlineSettings> deadline;
    bool resets = false;
    {
        const std::scoped_lock lock(mutex);
        next = std::exchange(built, std::nullopt);
        if (next && next->ladder.number != newestLadder.number)
            next.reset(); // one for the newest is being made
        if (next)
            rung = next->rung;
        wanted = std::exchange(newLoopSettings, std::nullopt);
        deadline = std::exchange(newDeadline, std::nullopt);
        resets = std::exchange(wantsReset, false);
    }
    if (next)
        swapLoop(std::move(*next));
    try {
        if (deadline)
            keeper.setSettings(*deadline);
        if (wanted && keeper.isReduced())
            wanted->steps = keeper.level().steps;
        if (wanted)
            loop->setSettings(*wanted);
    } catch (const ContractError& error) {
        post(StreamEvent::Kind::RebuildFailed,
             std::string(error.what()) + ". The settings stay as they are.");
    }
    if (resets) {
        loop->reset();
        fed.clear();
    }
}

/// The input that the record answers: with a stream batch an older one than came last.
PresentedFrame LiveStream::Impl::answered(const FrameRecord& record, double done)
{
    PresentedFrame frame;
    frame.record = record;
    frame.output = loop->output();
    frame.finished = done;
    FedFrames::Fed source = fed.takeAnswered(record);
    frame.input = std::move(source.frame.rgb);
    frame.target = std::move(source.frame.target);
    frame.sourceSeconds = source.frame.seconds;
    frame.captured = source.frame.captured;
    frame.taken = source.taken;
    return frame;
}

void LiveStream::Impl::judge(const FrameRecord& record, double seconds)
{
    if (record.fate == FrameFate::Kept)
        post(StreamEvent::Kind::NotFinite, record.message);
    auto next = record.fate == FrameFate::Generated ? keeper.add(seconds) : std::nullopt;
    {
        const std::scoped_lock lock(mutex);
        totals = loop->totals();
        drops.skipped += record.fate == FrameFate::Skipped;
        percentile = keeper.percentile95();
        if (ladder.number != newestLadder.number || !ladder.build)
            next.reset(); // the newest ladder begins at its top
        if (next)
            buildRequest = *next;
    }
    if (next) {
        post(StreamEvent::Kind::Level, "The deadline keeper goes to " + next->text() + ".");
        changed.notify_all();
    }
}

void LiveStream::Impl::present(PresentedFrame&& frame)
{
    std::function<void(const PresentedFrame&)> hears;
    {
        const std::scoped_lock lock(mutex);
        hears = listener;
    }
    if (hears)
        hears(frame);
    {
        const std::scoped_lock lock(mutex);
        if (presents.size() == static_cast<std::size_t>(settings.presentSlots)) {
            presents.pop_front();
            ++drops.late;
        }
        presents.push_back(std::move(frame));
    }
    finished.notify_all();
}

void LiveStream::Impl::run(Captured&& captured)
{
    if (captured.isNewSource) {
        loop->reset();
        fed.clear();
    }
    const double taken = steadySeconds();
    const FrameRecord record = loop->process(captured.frame.rgb);
    const double done = steadySeconds();
    fed.add(record.number, std::move(captured.frame), taken);
    judge(record, done - taken);
    if (record.fate != FrameFate::Filling)
        present(answered(record, done));
}

void LiveStream::Impl::inferFrames(const std::stop_token& stop)
{
    while (!stop.stop_requested()) {
        auto captured = waitForFrame(stop);
        applyLoopRequests();
        if (captured)
            run(std::move(*captured));
        else
            finished.notify_all();
    }
}

void LiveStream::Impl::infer(const std::stop_token& stop)
{
    const StopScope scope([stop] { return stop.stop_requested(); });
    try {
        inferFrames(stop);
    } catch (const Stopped&) { // within a frame, which nobody waits for
    } catch (const std::exception&) {
        const std::scoped_lock lock(mutex);
        failure = std::current_exception();
        hasFailed = isPaused = true;
        interruption.request_stop();
    }
    finished.notify_all();
}

void LiveStream::Impl::buildLoops(const std::stop_token& stop)
{
    const StopScope scope([stop] { return stop.stop_requested(); });
    for (;;) {
        BuiltLoop next;
        {
            std::unique_lock lock(mutex);
            if (!changed.wait(lock, stop, [&] { return buildRequest.has_value(); }))
                return;
            next.rung = *std::exchange(buildRequest, std::nullopt);
            next.ladder = newestLadder;
        }
        post(StreamEvent::Kind::Rebuilding, "A new plan is being made; the old one streams on.");
        try {
            next.loop = next.ladder.build(next.rung);
            expects(next.loop != nullptr, "live stream: the new loop is missing");
            const std::scoped_lock lock(mutex);
            built = std::move(next);
        } catch (const Stopped&) {
            return;
        } catch (const std::exception& error) {
            {
                const std::scoped_lock lock(mutex);
                if (next.ladder.number == newestLadder.number)
                    newestLadder = ladder;
            }
            post(StreamEvent::Kind::RebuildFailed,
                 std::string(error.what()) + " The old plan streams on.");
        }
        changed.notify_all();
    }
}

} // namespace vergence::live
