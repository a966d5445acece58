#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/metrics/metric_store.h"
#include "core/run/run.h"
#include "core/run/run_controller.h"

namespace vergence::test {

struct RunOutcome {
    ExitCode code = ExitCode::Success;
    RunState state = RunState::Draft;
    std::int64_t steps = 0;
    std::vector<nlohmann::json> messages;

    /// All sentences of warnings and failures.
    std::string problems() const
    {
        std::string text;
        for (const auto& message : messages) {
            if (message.at("type") == "problem")
                text += message.at("sentence").get<std::string>() + "\n";
        }
        return text;
    }
};

/// Waits before every step until somebody has looked at the run as it stands there, so that a
/// request "from step n on" comes before that step however busy the computer is.
class WatchedRun final : public Run {
public:
    WatchedRun(std::unique_ptr<Run> run, const std::atomic<std::int64_t>& looks)
        : m_run(std::move(run)),
          m_looks(looks)
    {
    }

    void prepare(RunContext& context) override { m_run->prepare(context); }
    StepOutcome step(RunContext& context) override
    {
        const std::int64_t before = m_looks; // the look under way may have begun too early
        while (m_looks < before + 2)
            std::this_thread::yield();
        return m_run->step(context);
    }
    std::int64_t totalSteps() const override { return m_run->totalSteps(); }
    void save(RunContext& context, Checkpoint& checkpoint) override
    {
        m_run->save(context, checkpoint);
    }
    void load(RunContext& context, const Checkpoint& checkpoint) override
    {
        m_run->load(context, checkpoint);
    }
    void finish(RunContext& context) override { m_run->finish(context); }
    void view(RunContext& context, const ViewInput& input) override { m_run->view(context, input); }

private:
    std::unique_ptr<Run> m_run;
    const std::atomic<std::int64_t>& m_looks;
};

/// Whole runs of a lab in this process.
class RunBench {
public:
    using MakeRun = std::function<std::unique_ptr<Run>(const Config&)>;

    /// `small`: assignments that every run begins with.
    RunBench(std::filesystem::path folder, ConfigSchema schema, MakeRun makeRun,
             std::vector<std::string> small = {})
        : m_folder(std::move(folder)),
          m_schema(std::move(schema)),
          m_makeRun(std::move(makeRun)),
          m_small(std::move(small))
    {
    }

    const std::filesystem::path& folder() const { return m_folder; }

    RunFolder newFolder() const
    {
        return RunFolder::createAt(m_folder / ("run" + std::to_string(m_count++)));
    }

    ConfigBuilder::Result build(const std::vector<std::string>& assignments) const
    {
        ConfigBuilder builder(m_schema);
        for (const auto& assignment : assignments)
            builder.addAssignment(assignment);
        return builder.build();
    }

    /// The small run with more assignments; throws InputError where these contradict each other.
    Config configOf(const std::vector<std::string>& more = {}) const
    {
        std::vector<std::string> all = m_small;
        all.insert(all.end(), more.begin(), more.end());
        ConfigBuilder::Result result = build(all);
        std::string issues;
        for (const ConfigIssue& issue : result.issues)
            issues += issue.text() + "\n";
        if (!result.config)
            throw InputError(issues);
        std::fputs(issues.c_str(), stderr);
        return std::move(*result.config);
    }

    /// `onPoll` may make requests; it is called at least once before every step.
    RunOutcome run(const RunFolder& folder, const Config& config, bool resumes = false,
                   const std::function<void(RunController&)>& onPoll = {}) const
    {
        RunSettings settings;
        settings.folder = folder;
        settings.plugin = m_schema.id();
        settings.resumes = resumes;
        settings.checkpointSeconds = 0;
        settings.checkpointSteps = checkpointSteps;
        std::atomic<std::int64_t> looks{0};
        auto lab = m_makeRun(config);
        if (onPoll)
            lab = std::make_unique<WatchedRun>(std::move(lab), looks);
        RunController controller(std::move(lab), config, device ? device : makeCpuDevice(threads),
                                 settings);
        controller.start();
        RunOutcome outcome;
        const auto hear = [&] {
            for (auto& message : controller.poll())
                outcome.messages.push_back(std::move(message));
        };
        while (!controller.isFinished()) {
            hear();
            if (onPoll)
                onPoll(controller);
            ++looks;
            std::this_thread::yield();
        }
        hear();
        outcome.code = controller.exitCode();
        outcome.state = controller.state();
        outcome.steps = controller.step();
        return outcome;
    }

    std::int64_t checkpointSteps = 0;
    int threads = 0;                ///< of the CPU; 0: all
    std::shared_ptr<Device> device; ///< where runs go; null: the CPU

private:
    std::filesystem::path m_folder;
    ConfigSchema m_schema;
    MakeRun m_makeRun;
    std::vector<std::string> m_small;
    mutable int m_count = 0;
};

/// Values of the series that do not depend on time, nor on how much memory was kept in reserve.
inline std::map<std::string, std::vector<double>> timelessNumbers(const RunFolder& folder)
{
    const MetricStore store = MetricStore::fromCsv(readFile(folder.metrics()), "metrics.csv");
    std::map<std::string, std::vector<double>> numbers;
    for (const auto& name : store.names()) {
        const std::string group = name.substr(0, name.find('/'));
        const bool repeats = group != "time" && group != "speed" && group != "system" &&
                             group != "progress" && group != "memory";
        if (repeats)
            numbers[name] = store.find(name)->values();
    }
    return numbers;
}

} // namespace vergence::test
