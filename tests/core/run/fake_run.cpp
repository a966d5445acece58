#include "tests/core/run/fake_run.h"

#include <array>
#include <chrono>
#include <thread>

namespace vergence::testing {

Config fakeConfig(std::int64_t steps)
{
    SchemaBuilder<FakeConfig> schema("fake");
    schema.add("steps", &FakeConfig::steps).range(1, 1e9);
    schema.add("seed", &FakeConfig::seed).type(FieldType::Seed).decisive();
    schema.add("limit", &FakeConfig::limit).range(0, 10).live();
    schema.add("rate", &FakeConfig::rate).range(0, 10).live();
    schema.rule("limit", [](const FakeConfig& config) {
        std::vector<ConfigIssue> issues;
        if (config.rate > config.limit)
            issues.push_back({IssueSeverity::Error, {}, "rate", "rate is beyond limit.", {}, {}});
        return issues;
    });
    ConfigBuilder builder(schema.build());
    builder.addAssignment("steps=" + std::to_string(steps));
    return *builder.build().config;
}

FakeRun::FakeRun(FakeScript& script, const Config& config)
    : m_script(script),
      m_steps(config.get<std::int64_t>("steps"))
{
}

void FakeRun::prepare(RunContext& context)
{
    ++m_script.prepared;
    context.phase(1, 1, "preparing");
    context.declareControls(
        {{"level", "Level", "mm", {}, ViewControl::Kind::Slider, {0}, {1}, {0.5}, {}, {}}});
    if (m_script.inPrepare)
        m_script.inPrepare(context);
}

StepOutcome FakeRun::step(RunContext& context)
{
    if (m_script.inStep)
        m_script.inStep(context);
    if (m_script.leavesSteps && context.stopRequested())
        return StepOutcome::Interrupted;
    if (m_script.waitsAMillisecond)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++m_script.stepped;
    const double rate = context.config().get<double>("rate");
    m_state =
        0.9 * m_state + rate * context.rng(3).uniform(static_cast<std::uint64_t>(context.step()));
    context.record("train/loss", m_state);
    return context.step() + 1 < m_steps ? StepOutcome::Continue : StepOutcome::Done;
}

void FakeRun::save(RunContext& context, Checkpoint& checkpoint)
{
    if (m_script.inSave)
        m_script.inSave(context);
    checkpoint.tensors.push_back(HostTensor::from<double>("state", {1}, std::array{m_state}));
}

void FakeRun::load(RunContext&, const Checkpoint& checkpoint)
{
    ++m_script.loaded;
    m_state = checkpoint.tensor("state").as<double>()[0];
}

void FakeRun::finish(RunContext& context)
{
    if (m_script.inFinish)
        m_script.inFinish(context);
    ++m_script.finished;
    context.artifacts().writeText("result.txt", "loss " + std::to_string(m_state) + "\n", "result",
                                  "Result");
}

void FakeRun::view(RunContext& context, const ViewInput& input)
{
    ++m_script.viewed;
    m_script.lastViewX = input.scalar("level").value_or(-1);
    if (m_script.inView)
        return m_script.inView(context);
    const std::array<float, 4> pixels{0, 0.25f, 0.5f, 1};
    context.frames().publishLinear("picture", pixels, 2, 2, 1, context.step());
}

} // namespace vergence::testing
