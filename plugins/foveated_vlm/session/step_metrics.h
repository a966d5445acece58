#pragma once

#include "core/metrics/metric_store.h"
#include "core/run/run_context.h"
#include "plugins/foveated_vlm/session/session.h"
#include "plugins/foveated_vlm/view/evaluation_record.h"

namespace vergence::fvlm {

/// Turns what trainer and evaluator tell into the series of the run.
class StepMetrics {
public:
    /// Numbers of updates, at the micro-steps that ended them, and the speed since the last call.
    /// `besideFlop`: operations of what is trained beside, whose work counts.
    void record(RunContext& context, const Session& session,
                const std::vector<UpdateRecord>& records, double besideFlop = 0);
    /// What held-out clips say, at the present step.
    void record(RunContext& context, const EvaluationReport& report);
    /// The same of a control of so many visual tokens that is trained beside.
    void recordControl(RunContext& context, int tokens, const std::vector<UpdateRecord>& records);
    void recordControl(RunContext& context, int tokens, const EvaluationRecord& record);
    /// Of a run that goes on: what was recorded up to step `last`.
    void recall(RunContext& context, std::int64_t last);
    const MetricStore& store() const { return m_store; }

private:
    void put(RunContext& context, const std::string& name, double value, std::int64_t at);

    MetricStore m_store; ///< the same numbers, for the drawings at the end
    double m_since = 0;  ///< s; 0: not yet started
    Index m_microSteps = 0, m_samples = 0;
    double m_waited = 0, m_flop = 0;
};

} // namespace vergence::fvlm
