#include "plugins/live_diffusion/stream/live_stream.h"

#include <array>
#include <chrono>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/live_diffusion/stream/live_stream_impl.h"

namespace vergence::live {

namespace {

constexpr std::size_t kMostEvents = 256;

} // namespace

const char* nameOf(StreamState state)
{
    constexpr std::array kNames = {"starting", "running", "paused", "ended", "stopped", "failed"};
    return kNames[static_cast<std::size_t>(state)];
}

double PresentedFrame::latency() const
{
    const bool isOlder = record.fate == FrameFate::Generated && record.shown < record.number;
    return isOlder ? finished - taken : record.seconds.total;
}

LiveStream::Impl::Impl(std::unique_ptr<Source> source, std::unique_ptr<FrameLoop> firstLoop,
                       const LiveSettings& live, std::vector<QualityLevel> rungs, LoopBuilder build)
    : settings(live),
      ladder{0, std::move(rungs), std::move(build)},
      newestLadder(ladder),
      player(std::move(source), live.play, steadyClock()),
      loop(std::move(firstLoop)),
      keeper(ladder.rungs, live.deadline)
{
    expects(loop != nullptr, "live stream: a loop");
    expects(live.presentSlots >= 1 && live.presentSlots <= 16,
            "live stream: 1 to 16 frames that wait to be shown");
    expects(live.stallSeconds > 0, "live stream: a time until a source has stalled");
    rung = keeper.level();
    cost = loop->network().cost();
    isPaused = live.startsPaused;
    captureThread = std::jthread([this](const std::stop_token& stop) { capture(stop); });
    inferenceThread = std::jthread([this](const std::stop_token& stop) { infer(stop); });
    builderThread = std::jthread([this](const std::stop_token& stop) { buildLoops(stop); });
}

void LiveStream::Impl::stop()
{
    for (std::jthread* thread : {&captureThread, &inferenceThread, &builderThread})
        thread->request_stop();
    {
        const std::scoped_lock lock(mutex);
        interruption.request_stop();
        isStopped = true;
    }
    changed.notify_all();
    finished.notify_all();
    for (std::jthread* thread : {&captureThread, &inferenceThread, &builderThread}) {
        if (thread->joinable())
            thread->join();
    }
}

void LiveStream::Impl::post(StreamEvent::Kind kind, const std::string& text)
{
    if (kind == StreamEvent::Kind::RebuildFailed || kind == StreamEvent::Kind::Message)
        log("live_diffusion").warn("{}", text);
    else
        log("live_diffusion").info("{}", text);
    const std::scoped_lock lock(mutex);
    if (events.size() == kMostEvents)
        events.pop_front();
    events.push_back({kind, text, steadySeconds()});
}

/// Changes what the threads look at and wakes them; `interrupts`: also the source's waiting.
void LiveStream::Impl::request(const std::function<void()>& change, bool interrupts)
{
    {
        const std::scoped_lock lock(mutex);
        change();
        if (interrupts)
            interruption.request_stop();
    }
    changed.notify_all();
}

bool LiveStream::Impl::isOver() const
{
    return isStopped || hasFailed || (hasEnded && mailbox.empty() && !isBusy);
}

std::optional<PresentedFrame> LiveStream::Impl::takeLocked()
{
    if (presents.empty())
        return std::nullopt;
    PresentedFrame frame = std::move(presents.front());
    presents.pop_front();
    ++drops.presented;
    return frame;
}

LiveStream::LiveStream(std::unique_ptr<Source> source, std::unique_ptr<FrameLoop> loop,
                       const LiveSettings& settings, std::vector<QualityLevel> ladder,
                       LoopBuilder build)
    : m_impl(std::make_unique<Impl>(std::move(source), std::move(loop), settings, std::move(ladder),
                                    std::move(build)))
{
}

LiveStream::~LiveStream() = default;

std::optional<PresentedFrame> LiveStream::take()
{
    const std::scoped_lock lock(m_impl->mutex);
    return m_impl->takeLocked();
}

std::optional<PresentedFrame> LiveStream::waitFor(double seconds)
{
    std::unique_lock lock(m_impl->mutex);
    m_impl->finished.wait_for(lock, std::chrono::duration<double>(seconds),
                              [&] { return !m_impl->presents.empty() || m_impl->isOver(); });
    return m_impl->takeLocked();
}

void LiveStream::setListener(std::function<void(const PresentedFrame&)> listener)
{
    const std::scoped_lock lock(m_impl->mutex);
    m_impl->listener = std::move(listener);
}

void LiveStream::setPaused(bool isPaused)
{
    const auto change = [&] {
        m_impl->isPaused = isPaused || m_impl->hasFailed;
        m_impl->restartsClock = !isPaused;
        m_impl->stepsAsked = 0;
    };
    m_impl->request(change, true);
}

void LiveStream::stepOnce()
{
    const auto change = [&] {
        m_impl->stepsAsked += m_impl->isPaused;
        m_impl->restartsClock = true;
    };
    m_impl->request(change, true);
}

void LiveStream::seek(double seconds)
{
    m_impl->request([&] { m_impl->newPlace = seconds; }, true);
}

void LiveStream::setSpeed(double speed)
{
    expects(speed > 0 && speed <= 16, "live stream: a speed above 0, up to 16");
    m_impl->request([&] { m_impl->newSpeed = speed; }, true);
}

void LiveStream::setSource(std::unique_ptr<Source> source)
{
    expects(source != nullptr, "live stream: a source");
    m_impl->request([&] { m_impl->newSource = std::move(source); }, true);
}

void LiveStream::setLoopSettings(const LoopSettings& settings)
{
    check(settings);
    m_impl->request([&] { m_impl->newLoopSettings = settings; });
}

void LiveStream::setDeadline(const DeadlineSettings& settings)
{
    m_impl->request([&] { m_impl->newDeadline = settings; });
}

void LiveStream::rebuild(LoopBuilder build, std::vector<QualityLevel> ladder)
{
    expects(build != nullptr, "live stream: what makes the new loop");
    expects(!ladder.empty(), "live stream: at least one rung");
    m_impl->request([&] {
        m_impl->newestLadder = {m_impl->newestLadder.number + 1, std::move(ladder),
                                std::move(build)};
        m_impl->buildRequest = m_impl->newestLadder.rungs.front();
    });
}

void LiveStream::reset()
{
    m_impl->request([&] { m_impl->wantsReset = true; });
}

void LiveStream::stop()
{
    m_impl->stop();
}

StreamState LiveStream::state() const
{
    const std::scoped_lock lock(m_impl->mutex);
    if (m_impl->hasFailed)
        return StreamState::Failed;
    if (m_impl->isStopped)
        return StreamState::Stopped;
    if (m_impl->isOver())
        return StreamState::Ended;
    if (m_impl->isPaused)
        return StreamState::Paused;
    return m_impl->hasStarted ? StreamState::Running : StreamState::Starting;
}

void LiveStream::throwFailure() const
{
    std::exception_ptr failure;
    {
        const std::scoped_lock lock(m_impl->mutex);
        failure = m_impl->failure;
    }
    if (failure)
        std::rethrow_exception(failure);
}

DropCounts LiveStream::drops() const
{
    const std::scoped_lock lock(m_impl->mutex);
    return m_impl->drops;
}

LoopTotals LiveStream::totals() const
{
    const std::scoped_lock lock(m_impl->mutex);
    return m_impl->totals;
}

QualityLevel LiveStream::level() const
{
    const std::scoped_lock lock(m_impl->mutex);
    return m_impl->rung;
}

FrameCost LiveStream::cost() const
{
    const std::scoped_lock lock(m_impl->mutex);
    return m_impl->cost;
}

double LiveStream::percentile95() const
{
    const std::scoped_lock lock(m_impl->mutex);
    return m_impl->percentile;
}

std::vector<StreamEvent> LiveStream::takeEvents()
{
    const std::scoped_lock lock(m_impl->mutex);
    std::vector<StreamEvent> taken(m_impl->events.begin(), m_impl->events.end());
    m_impl->events.clear();
    return taken;
}

} // namespace vergence::live
