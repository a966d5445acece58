#pragma once

#include <memory>

#include "core/run/run.h"

namespace vergence::live {

/// Runs the parts of the context's configuration one after the other; one step is a frame, an
/// update, a row of an A/B run.
class LiveDiffusionRun final : public Run {
public:
    LiveDiffusionRun();
    ~LiveDiffusionRun() override;

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override;
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    class Work; ///< hides the tape's types from those who know configurations
    std::unique_ptr<Work> m_work;
};

} // namespace vergence::live
