#include "plugins/live_diffusion/bench/loop_task.h"

#include "core/base/error.h"

namespace vergence::live {

LoopTask::LoopTask(FrameLoop& loop, std::vector<std::vector<float>> frames)
    : m_loop(loop),
      m_frames(std::move(frames))
{
    expects(!m_frames.empty(), "LoopTask: at least one frame");
    for (const auto& frame : m_frames)
        expects(static_cast<Index>(frame.size()) == loop.shape().values(),
                "LoopTask: frames of the network's size");
}

MeasuredFrame LoopTask::frame()
{
    const std::vector<float>& picture = m_frames[m_next];
    m_next = (m_next + 1) % m_frames.size();
    const FrameRecord record = m_loop.process(picture);
    MeasuredFrame frame;
    const FrameTimes& seconds = record.seconds;
    frame.device = seconds.network + seconds.sampler + seconds.memory;
    frame.pipeline = seconds.total;
    frame.launch = m_loop.network().cost().launchSeconds * record.calls;
    frame.evaluations = record.evaluations;
    frame.isSkipped = record.fate != FrameFate::Generated;
    return frame;
}

} // namespace vergence::live
