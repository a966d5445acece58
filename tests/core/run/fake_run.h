#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "core/config/config.h"
#include "core/run/run.h"

namespace vergence::testing {

struct FakeConfig {
    std::int64_t steps = 50;
    std::int64_t seed = 7;
    double rate = 1.0; ///< live, 0 to 10
    double limit = 5;  ///< live, at least the rate
};

Config fakeConfig(std::int64_t steps);

/// What a test sees of a FakeRun, and what it makes it do. Outlives the run.
struct FakeScript {
    std::function<void(RunContext&)> inPrepare, inStep, inSave, inFinish; ///< called first thing
    std::function<void(RunContext&)> inView; ///< publishes instead of the run
    std::atomic<int> prepared{0}, stepped{0}, finished{0}, viewed{0}, loaded{0};
    std::atomic<double> lastViewX{-1};
    bool waitsAMillisecond = true; ///< simulated work per step
    bool leavesSteps = false;      ///< a step that a stop reaches does nothing
};

/// A run of two numbers: a state that folds in a random number per step, and the loss that it
/// reports.
class FakeRun final : public Run {
public:
    FakeRun(FakeScript& script, const Config& config);
    void prepare(RunContext& context) override;
    StepOutcome step(RunContext& context) override;
    std::int64_t totalSteps() const override { return m_steps; }
    void save(RunContext& context, Checkpoint& checkpoint) override;
    void load(RunContext& context, const Checkpoint& checkpoint) override;
    void finish(RunContext& context) override;
    void view(RunContext& context, const ViewInput& input) override;

private:
    FakeScript& m_script;
    std::int64_t m_steps;
    double m_state = 1;
};

} // namespace vergence::testing
