#pragma once

#include <memory>

#include "core/run/run.h"
#include "plugins/foveated_vlm/foveated_vlm_config.h"

namespace vergence::fvlm {

/// Trains a foveated model; one step is one micro-step. Held-out clips are tested between updates,
/// and at the end.
class FoveatedVlmRun final : public Run {
public:
    explicit FoveatedVlmRun(FoveatedVlmConfig config);
    ~FoveatedVlmRun() override;

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override;
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    class Work; ///< hides the tape's types from those who know configurations
    FoveatedVlmConfig m_config;
    std::unique_ptr<Work> m_work;
};

} // namespace vergence::fvlm
