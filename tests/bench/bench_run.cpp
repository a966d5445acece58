#include <filesystem>
#include <thread>

#include <unistd.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/base/log.h"
#include "core/run/run_controller.h"
#include "plugins/light_field/light_field_run.h"

// What it costs a run to tell its viewers: numbers per step, and how fast a slider in the window
// moves the picture.

namespace {

using namespace vergence;

class ScratchFolder {
public:
    ScratchFolder()
        : m_root(std::filesystem::temp_directory_path() /
                 fmt::format("vergence-bench-{}", ::getpid()))
    {
    }
    ~ScratchFolder() { std::filesystem::remove_all(m_root); }
    RunFolder next() { return RunFolder::createAt(m_root / std::to_string(m_count++)); }

private:
    std::filesystem::path m_root;
    int m_count = 0;
};

/// Does nothing but report eight numbers a step.
class TellingRun final : public Run {
public:
    explicit TellingRun(std::int64_t steps) : m_steps(steps) {}
    void prepare(RunContext&) override {}
    StepOutcome step(RunContext& context) override
    {
        static const std::string kNames[] = {"a/1", "a/2", "a/3", "a/4",
                                             "b/1", "b/2", "b/3", "b/4"};
        for (const std::string& name : kNames)
            context.record(name, 0.5);
        return context.step() + 1 < m_steps ? StepOutcome::Continue : StepOutcome::Done;
    }
    std::int64_t totalSteps() const override { return m_steps; }
    void save(RunContext&, Checkpoint&) override {}
    void load(RunContext&, const Checkpoint&) override {}
    void finish(RunContext&) override {}

private:
    std::int64_t m_steps;
};

Config demoConfig()
{
    ConfigBuilder builder(light_field::lightFieldSchema());
    for (const char* assignment : {"boards=[38]", "iterations=3"})
        builder.addAssignment(assignment);
    return *builder.build().config;
}

/// Wall time of the run thread per step that reports eight numbers, state machine and journal
/// included.
void tellEightNumbers(benchmark::State& state)
{
    setLogLevel("error");
    constexpr std::int64_t kSteps = 20'000;
    ScratchFolder scratch;
    for (auto _ : state) {
        RunSettings settings;
        settings.folder = scratch.next();
        RunController controller(std::make_unique<TellingRun>(kSteps), demoConfig(),
                                 makeCpuDevice(1), settings);
        controller.start();
        while (!controller.isFinished()) {
            benchmark::DoNotOptimize(controller.poll());
            std::this_thread::sleep_for(std::chrono::milliseconds(50)); // the worker's pace
        }
    }
    state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(tellEightNumbers)->Unit(benchmark::kMillisecond)->UseRealTime();

/// From a moved accommodation slider to the published 256² eye view of the demo's display.
void moveAccommodation(benchmark::State& state)
{
    setLogLevel("error");
    ScratchFolder scratch;
    RunSettings settings;
    settings.folder = scratch.next();
    settings.lingerSeconds = 60;
    const Config config = demoConfig();
    RunController controller(std::make_unique<light_field::LightFieldRun>(
                                 light_field::readLightFieldConfig(config), config),
                             config, makeCpuDevice(), settings);
    controller.setWatched(true);
    controller.start();
    while (controller.state() != RunState::Completed) {
        controller.poll();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ViewInput input;
    input.texts["visible"] = state.range(0) == 0 ? "eye_view" : "eye_view,target,error";
    const auto waitForView = [&] {
        for (;;) {
            for (const auto& message : controller.pollFrames()) {
                if (message.at("stream") == (state.range(0) == 0 ? "eye_view" : "error"))
                    return;
            }
            std::this_thread::yield();
        }
    };
    controller.setView(input);
    waitForView();
    for (auto _ : state) {
        ++input.sequence;
        input.values["accommodation"] = {4.0 + 0.01 * static_cast<double>(input.sequence % 300)};
        controller.setView(input);
        waitForView();
    }
    controller.requestStop();
    while (!controller.isFinished()) {
        controller.poll();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    state.counters["updates_per_s"] =
        benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(moveAccommodation)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
