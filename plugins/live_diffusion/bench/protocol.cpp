#include "plugins/live_diffusion/bench/protocol.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace vergence::live {

namespace {

class SteadyClock : public BenchClock {
public:
    double now() override { return steadySeconds(); }
    void sleepUntil(double time) override
    {
        if (const double wait = time - steadySeconds(); wait > 0)
            std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    }
};

} // namespace

BenchClock& steadyBenchClock()
{
    static SteadyClock clock;
    return clock;
}

Protocol Protocol::within(double seconds)
{
    Protocol protocol;
    protocol.warmFrames = 3;
    protocol.warmSeconds = 0;
    protocol.warmCapSeconds = seconds / 10;
    protocol.frames = 5;
    protocol.seconds = seconds * 0.9;
    protocol.capSeconds = seconds * 0.9;
    protocol.repeats = 1;
    return protocol;
}

void check(const Protocol& protocol)
{
    expects(protocol.warmFrames >= 0, "protocol: warmFrames is not negative");
    expects(protocol.warmSeconds >= 0, "protocol: warmSeconds is not negative");
    expects(protocol.warmWindow >= 1, "protocol: warmWindow is positive");
    expects(protocol.warmTolerance > 0, "protocol: warmTolerance is positive");
    expects(protocol.warmCapSeconds > 0, "protocol: warmCapSeconds is positive");
    expects(protocol.frames >= 1, "protocol: frames is positive");
    expects(protocol.seconds >= 0, "protocol: seconds is not negative");
    expects(protocol.capSeconds > 0, "protocol: capSeconds is positive");
    expects(protocol.repeats >= 1, "protocol: repeats is positive");
    expects(protocol.pacedRate >= 0, "protocol: pacedRate is not negative");
}

void WarmUp::add(double seconds, double elapsed)
{
    ++m_frames;
    m_elapsed = elapsed;
    m_last.push_back(seconds);
    if (m_last.size() > 3 * static_cast<std::size_t>(m_protocol.warmWindow))
        m_last.pop_front();
}

bool WarmUp::isSettled() const
{
    const auto window = static_cast<std::ptrdiff_t>(m_protocol.warmWindow);
    if (m_frames < m_protocol.warmFrames || m_elapsed < m_protocol.warmSeconds ||
        static_cast<std::ptrdiff_t>(m_last.size()) < 3 * window)
        return false;
    double least = INFINITY, most = 0;
    for (int i = 0; i < 3; ++i) {
        const auto first = m_last.begin() + i * window;
        const double sum = std::accumulate(first, first + window, 0.0);
        least = std::min(least, sum);
        most = std::max(most, sum);
    }
    return most <= least * (1 + m_protocol.warmTolerance);
}

double Measurement::framesPerSecond() const
{
    const auto finished = std::count_if(frames.begin(), frames.end(), [](const auto& frame) {
        return !frame.isSkipped && !frame.isDropped;
    });
    return wallSeconds > 0 ? static_cast<double>(finished) / wallSeconds : 0;
}

double Measurement::evaluationsPerSecond() const
{
    const double evaluations =
        std::accumulate(frames.begin(), frames.end(), 0.0, [](double sum, const auto& frame) {
            return sum + (frame.isDropped ? 0 : frame.evaluations);
        });
    return wallSeconds > 0 ? evaluations / wallSeconds : 0;
}

Measuring::Measuring(FrameTask& task, const Protocol& protocol, BenchClock& clock)
    : m_task(task),
      m_protocol(protocol),
      m_clock(clock),
      m_warmUp(protocol)
{
    check(protocol);
}

MeasuredFrame Measuring::timed()
{
    MeasuredFrame frame = m_task.frame();
    frame.completed = m_clock.now();
    return frame;
}

/// Waits for the source's next frame. What was delivered while the last one was still in work was
/// replaced by its successor, unseen: dropped.
void Measuring::awaitSource()
{
    const double period = 1 / m_protocol.pacedRate;
    const double now = m_clock.now() - *m_start;
    const auto newest = static_cast<long>(std::floor(now / period));
    if (newest >= m_delivered) {
        const long missed = newest - m_delivered;
        m_result.dropped += static_cast<int>(missed);
        m_delivered = newest + 1;
        return;
    }
    m_clock.sleepUntil(*m_start + static_cast<double>(m_delivered) * period);
    ++m_delivered;
}

bool Measuring::next()
{
    if (!m_warmStart)
        m_warmStart = m_clock.now();
    if (!m_start) {
        if (!m_warmUp.isOver()) {
            const double before = m_clock.now();
            const MeasuredFrame frame = timed();
            m_warmUp.add(frame.completed - before, frame.completed - *m_warmStart);
            return true;
        }
        m_result.warmFrames = m_warmUp.frames();
        m_result.warmSeconds = m_warmUp.elapsed();
        m_result.isSettled = m_warmUp.isSettled();
        m_start = m_clock.now();
    }
    if (m_protocol.pacedRate > 0)
        awaitSource();
    m_result.frames.push_back(timed());
    m_result.wallSeconds = m_result.frames.back().completed - *m_start;
    const bool isLong = static_cast<int>(m_result.frames.size()) >= m_protocol.frames &&
                        m_result.wallSeconds >= m_protocol.seconds;
    return !isLong && m_result.wallSeconds < m_protocol.capSeconds;
}

double Measuring::progress() const
{
    if (!m_start)
        return 0.3 * std::min(1.0, m_warmUp.elapsed() / m_protocol.warmCapSeconds);
    const double byFrames = static_cast<double>(m_result.frames.size()) / m_protocol.frames;
    const double bySeconds =
        m_protocol.seconds > 0 ? m_result.wallSeconds / m_protocol.seconds : 1.0;
    const double byCap = m_result.wallSeconds / m_protocol.capSeconds;
    return 0.3 + 0.7 * std::min(1.0, std::max(byCap, std::min(byFrames, bySeconds)));
}

Measurement measure(FrameTask& task, const Protocol& protocol, BenchClock& clock)
{
    Measuring measuring(task, protocol, clock);
    while (measuring.next()) {
    }
    return measuring.result();
}

} // namespace vergence::live
