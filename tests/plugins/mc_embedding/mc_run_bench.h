#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/run/run_controller.h"
#include "plugins/mc_embedding/mc_embedding_run.h"

namespace vergence::mc_embedding {

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

/// Whole runs in this process, small ones: two images a chunk, three passes at once.
class RunBench {
public:
    explicit RunBench(std::filesystem::path folder) : m_folder(std::move(folder)) {}

    RunFolder newFolder() const
    {
        return RunFolder::createAt(m_folder / ("run" + std::to_string(m_count++)));
    }
    const std::filesystem::path& folder() const { return m_folder; }

    Config configOf(const std::vector<std::string>& more) const
    {
        ConfigBuilder builder(mcEmbeddingSchema());
        const std::vector<std::string> small{"models=[\"tiny_clip\"]",
                                             "count=6",
                                             "p=0.05",
                                             "trials=3",
                                             "passes=[4, 8]",
                                             "batch_images=2",
                                             "batch_passes=3",
                                             "cache_folder=" + (m_folder / "cache").string()};
        for (const auto* list : {&small, &more}) {
            for (const auto& assignment : *list)
                builder.addAssignment(assignment);
        }
        auto result = builder.build();
        for (const auto& issue : result.issues)
            qInfo("%s", issue.text().c_str());
        return std::move(*result.config);
    }

    RunOutcome run(const RunFolder& folder, const Config& config, bool resumes = false,
                   const std::function<void(RunController&)>& onPoll = {}) const
    {
        RunSettings settings;
        settings.folder = folder;
        settings.plugin = "mc_embedding";
        settings.resumes = resumes;
        settings.checkpointSeconds = 0;
        settings.checkpointSteps = checkpointSteps;
        RunController controller(std::make_unique<McEmbeddingRun>(readMcEmbeddingConfig(config)),
                                 config, makeCpuDevice(), settings);
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
            std::this_thread::yield();
        }
        hear();
        outcome.code = controller.exitCode();
        outcome.state = controller.state();
        outcome.steps = controller.step();
        return outcome;
    }

    std::int64_t checkpointSteps = 0;

private:
    std::filesystem::path m_folder;
    mutable int m_count = 0;
};

} // namespace vergence::mc_embedding
