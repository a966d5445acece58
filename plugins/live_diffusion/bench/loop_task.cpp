#include "plugins/live_diffusion/bench/loop_task.h"

#include "core/base/clock.h"
#include "core/base/error.h"

namespace vergence::live {

namespace {

constexpr std::size_t kMostRows = 64; ///< of a stream batch

} // namespace

LoopTask::LoopTask(FrameLoop& loop, std::vector<std::vector<float>> frames)
    : m_loop(loop),
      m_frames(std::move(frames))
{
    expects(!m_frames.empty(), "LoopTask: at least one frame");
    for (const auto& frame : m_frames)
        expects(static_cast<Index>(frame.size()) == loop.shape().values(),
                "LoopTask: frames of the network's size");
}

/// A stream batch answers a frame that was taken some ticks ago.
double LoopTask::pipelineSeconds(const FrameRecord& record, double started)
{
    if (record.number == 0)
        m_taken.clear(); // the loop has begun anew
    m_taken.emplace_back(record.number, started);
    while (m_taken.size() > kMostRows || m_taken.front().first < record.shown)
        m_taken.pop_front();
    const bool isOlder = record.fate == FrameFate::Generated && record.shown < record.number &&
                         m_taken.front().first == record.shown;
    return isOlder ? steadySeconds() - m_taken.front().second : record.seconds.total;
}

MeasuredFrame LoopTask::frame()
{
    const double started = steadySeconds();
    const std::vector<float>& picture = m_frames[m_next];
    m_next = (m_next + 1) % m_frames.size();
    const FrameRecord record = m_loop.process(picture);
    MeasuredFrame frame;
    const FrameTimes& seconds = record.seconds;
    frame.device = seconds.network + seconds.sampler + seconds.memory;
    frame.pipeline = pipelineSeconds(record, started);
    frame.launch = m_loop.network().cost().launchSeconds * record.calls;
    frame.evaluations = record.evaluations;
    frame.isSkipped = record.fate != FrameFate::Generated;
    return frame;
}

} // namespace vergence::live
