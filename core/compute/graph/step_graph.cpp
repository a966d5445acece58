#include "core/compute/graph/step_graph.h"

#include "core/base/error.h"
#include "core/base/log.h"

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
    std::string refusal;
    m_graph = m_cannotRecord ? nullptr : recorded(stream, m_step, refusal);
    if (m_graph)
        m_graph->replay(stream);
    else
        runEagerly(stream, refusal);
}

/// `refusal` is why the step was not recorded just now; empty where that is nothing new.
void StepGraph::runEagerly(Stream& stream, const std::string& refusal)
{
    m_cannotRecord = true;
    m_step(stream); // a failure that is not about recording shows here
    if (!refusal.empty())
        log("compute").warn("A step runs launch by launch, it could not be recorded: {}", refusal);
}

/// Null where nothing is recorded on this stream or, with a `refusal`, where the step did what
/// cannot be recorded, for instance waited for the device.
std::unique_ptr<LaunchGraph> StepGraph::recorded(Stream& stream, const Step& step,
                                                 std::string& refusal)
{
    bool isRecording = false;
    try {
        isRecording = stream.beginCapture();
        if (!isRecording)
            return nullptr;
        step(stream);
        isRecording = false;
        return stream.endCapture();
    } catch (const DeviceError& error) {
        refusal = error.what();
    } catch (const ContractError& error) {
        refusal = error.what();
    } catch (...) {
        if (isRecording)
            abandon(stream);
        throw;
    }
    if (isRecording)
        abandon(stream);
    return nullptr;
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
