#include "core/compute/graph/step_graph.h"

#include "core/base/error.h"

namespace vergence {

StepGraph::StepGraph(Step step, int eagerRuns)
    : m_step(std::move(step)),
      m_eagerRuns(eagerRuns),
      m_eagerLeft(eagerRuns)
{
    expects(m_step != nullptr, "StepGraph: no step");
    expects(eagerRuns >= 1, "StepGraph: at least one eager run must warm the arena up");
}

void StepGraph::run(Stream& stream)
{
    ++m_runs;
    if (m_graph) {
        m_graph->replay(stream);
        return;
    }
    if (m_eagerLeft > 0) {
        --m_eagerLeft;
        m_step(stream);
        return;
    }
    if (m_cannotRecord || !stream.beginCapture()) {
        m_cannotRecord = true;
        m_step(stream);
        return;
    }
    record(stream);
}

void StepGraph::record(Stream& stream)
{
    m_graph = recorded(stream);
    m_cannotRecord = m_graph == nullptr;
    if (m_graph)
        m_graph->replay(stream);
    else
        m_step(stream); // a failure that is not about recording shows here
}

std::unique_ptr<LaunchGraph> StepGraph::recorded(Stream& stream)
{
    bool isOver = false;
    try {
        m_step(stream);
        isOver = true;
        return stream.endCapture();
    } catch (const DeviceError&) {
        // The step did what cannot be recorded, for instance waited for the device.
        if (!isOver)
            abandon(stream);
        return nullptr;
    } catch (...) {
        abandon(stream);
        throw;
    }
}

void StepGraph::abandon(Stream& stream)
{
    try {
        stream.endCapture(); // what was recorded did not run and is dropped
    } catch (const DeviceError&) {
        // An invalid recording reports itself when it ends; it is over either way.
    }
}

void StepGraph::invalidate()
{
    m_graph.reset();
    m_cannotRecord = false;
    m_eagerLeft = m_eagerRuns;
}

} // namespace vergence
