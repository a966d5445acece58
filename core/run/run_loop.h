#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/artifact/checkpoint.h"
#include "core/base/error.h"
#include "core/run/controller_context.h"
#include "core/run/live_settings.h"
#include "core/run/run.h"
#include "core/run/run_control.h"
#include "core/run/run_journal.h"
#include "core/run/run_manifest.h"
#include "core/run/status_writer.h"

namespace vergence {

/// What the run thread does: prepare, steps, checkpoints, results, and looking at them afterwards.
/// Every exception ends here.
class RunLoop {
public:
    struct Parts {
        const RunSettings& settings;
        RunControl& control;
        Outbox& outbox;
        MetricLog& metrics;
        RunJournal& journal;
        ArtifactStore& artifacts;
        FramePublisher& frames;
        RunManifest& manifest;
        StatusWriter& status;
        ControllerContext& context;
        LiveSettings& live;
    };
    RunLoop(std::unique_ptr<Run> run, Parts parts);

    /// The run thread's body.
    void work() noexcept;
    bool isFinished() const { return m_isFinished; }
    bool isPrepared() const { return m_isPrepared; }
    std::int64_t totalSteps() const { return m_total; }

private:
    void train();
    void explore();
    void begin(const std::optional<Checkpoint>& checkpoint);
    void expectSameDecisions(const Checkpoint& checkpoint) const;
    void recall(const Checkpoint& checkpoint);
    void stepUntilEnd();
    bool serveWishes();
    void oneStep();
    void conclude();
    void lookAround();
    void fail(const std::exception_ptr& error) noexcept;

    bool isAtEnd() const;
    void updateTotal();
    bool isSaveDue() const;
    void saveCheckpoint();
    nlohmann::json ownState() const;
    void configure();
    void serveView();
    RunManifest::Outcome outcome(RunState state) const;
    StatusWriter::Now now(RunState state) const;
    void done(RunState state);

    /// Runs `work`; where the disk is full, pauses, and repeats it when people resume (once more
    /// when they stop).
    template <class Work>
    auto withSpace(Work work);
    bool waitForSpace(const OutputError& error);

    std::unique_ptr<Run> m_run;
    Parts m_p;
    std::atomic<std::int64_t> m_total{0};
    std::atomic<bool> m_isFinished{false};
    std::atomic<bool> m_isPrepared{false};
    bool m_isDone = false;
    std::int64_t m_savedStep = -1;
    double m_savedAt = 0;
    const Config m_given;                ///< what the run was started with
    LiveSettings::Values m_changes;      ///< live changes, newest of each key; in every checkpoint
    LiveSettings::Values m_savedChanges; ///< those that the last checkpoint knows
};

} // namespace vergence
