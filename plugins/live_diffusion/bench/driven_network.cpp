#include "plugins/live_diffusion/bench/driven_network.h"

#include <algorithm>

#include "plugins/live_diffusion/bench/eval_task.h"
#include "plugins/live_diffusion/bench/loop_task.h"

namespace vergence::live {

DrivenNetwork::DrivenNetwork(const BenchSubject& subject, const Switches& switches,
                             const LoopSettings& loop, std::vector<std::vector<float>> frames)
    : m_network(subject.build(switches, subject.isStream ? FrameLoop::rowsNeeded(loop) : 1)),
      m_frames(std::move(frames))
{
    if (subject.isStream) {
        m_loop = std::make_unique<FrameLoop>(m_network, loop);
        m_task = std::make_unique<LoopTask>(*m_loop, m_frames);
    } else {
        m_task = std::make_unique<EvalTask>(m_network, 1, 1);
    }
}

BenchResult DrivenNetwork::measure(const std::string& id, const Protocol& protocol)
{
    BenchResult result = resultOf(id, live::measure(*m_task, protocol));
    const FrameCost cost = m_network->cost();
    result.memory = BenchMemory::of(cost);
    result.kernelsPerEvaluation = cost.kernelsPerEval;
    result.flopPerEvaluation = cost.flopPerRow;
    result.workPerEvaluation = cost.workPerRow;
    return result;
}

std::vector<float> DrivenNetwork::evaluation()
{
    EvalTask task(m_network, 1, 1);
    task.frame();
    return {task.output().begin(), task.output().end()};
}

std::map<int, std::vector<float>> DrivenNetwork::outputs(const std::vector<int>& wanted)
{
    std::map<int, std::vector<float>> found;
    if (!m_loop || wanted.empty())
        return found;
    m_loop->reset();
    const int last = *std::max_element(wanted.begin(), wanted.end());
    const int latest = last + m_loop->settings().steps; // a stream batch answers late
    for (int frame = 0; frame < latest && !found.contains(last); ++frame) {
        const FrameRecord record =
            m_loop->process(m_frames[static_cast<std::size_t>(frame) % m_frames.size()]);
        const int shown = static_cast<int>(record.shown);
        if (std::find(wanted.begin(), wanted.end(), shown) != wanted.end())
            found.try_emplace(shown, m_loop->values().begin(), m_loop->values().end());
    }
    return found;
}

} // namespace vergence::live
