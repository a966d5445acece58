#pragma once

#include <vector>

#include "core/run/run.h"
#include "tests/support/chaos/chaos_config.h"
#include "tests/support/small_scene.h"

namespace vergence::chaos {

/// Folds one random number per step into a state and reports it as "train/loss"; the picture is a
/// gradient at that level.
class ChaosRun final : public Run {
public:
    explicit ChaosRun(const ChaosConfig& config) : m_config(config) {}

    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override { return m_config.steps; }
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    void misbehave(RunContext& context);
    void flood(RunContext& context);
    void draw(RunContext& context);
    void drawScene(RunContext& context);

    ChaosConfig m_config;
    double m_state = 1, m_level = 0.5;
    double m_floodStart = -1;
    std::int64_t m_floodLines = 0;
    bool m_isContinued = false;
    test::SmallScene m_scene;
    std::vector<std::vector<char>> m_leaks;
};

} // namespace vergence::chaos
