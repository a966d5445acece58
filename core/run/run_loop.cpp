#include "core/run/run_loop.h"

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/run/run_failure.h"

namespace vergence {

namespace {

/// Member of the checkpoint's state that belongs to the controller.
constexpr const char* kOwnState = "vergence";

constexpr double kExplorerPatience = 60; // s without a viewer, where the settings name none

} // namespace

RunLoop::RunLoop(std::unique_ptr<Run> run, Parts parts)
    : m_run(std::move(run)),
      m_p(parts),
      m_given(parts.live.newest())
{
}

template <class Work>
auto RunLoop::withSpace(Work work)
{
    for (bool isLastTry = false;;) {
        try {
            return work();
        } catch (const OutputError& error) {
            if (!error.diskIsFull() || isLastTry)
                throw;
            isLastTry = !waitForSpace(error);
        }
    }
}

/// False where people stopped instead of resuming. Rethrows where the state knows no pause.
bool RunLoop::waitForSpace(const OutputError& error)
{
    const RunState before = m_p.control.state();
    if (before != RunState::Paused && !next(before, RunEvent::PauseReached))
        throw;
    const double freeGigabytes = static_cast<double>(freeBytes(m_p.settings.folder.root)) * 1e-9;
    const std::string sentence =
        fmt::format("{} {:.1f} GB free. The run is paused and has lost nothing: free some space, "
                    "then resume.",
                    error.what(), freeGigabytes);
    m_p.status.setProblem("E-DISK", sentence);
    m_p.context.warn("E-DISK", sentence);
    m_p.control.apply(RunEvent::PauseReached);
    for (;;) {
        const RunControl::Wish wish = m_p.control.takeWhileDiskIsFull();
        if (wish == RunControl::Wish::View) {
            serveView();
            continue;
        }
        if (before == RunState::Saving)
            m_p.control.apply(RunEvent::Finished);
        else if (before == RunState::Stopping)
            m_p.control.apply(RunEvent::StopRequested);
        return wish == RunControl::Wish::Step;
    }
}

void RunLoop::work() noexcept
{
    try {
        if (m_p.settings.exploresOnly)
            explore();
        else
            train();
    } catch (...) {
        fail(std::current_exception());
    }
    m_run.reset();
    m_p.context.close();
    m_isFinished = true;
}

void RunLoop::train()
{
    std::optional<Checkpoint> checkpoint;
    if (m_p.settings.resumes)
        checkpoint = loadNewestCheckpoint(m_p.settings.folder);
    begin(checkpoint);
    if (checkpoint)
        expectSameDecisions(*checkpoint);
    m_run->prepare(m_p.context);
    if (checkpoint && !m_p.control.stopRequested())
        m_run->load(m_p.context, *checkpoint);
    checkpoint.reset();
    if (!m_p.control.stopRequested()) {
        m_isPrepared = true;
        updateTotal();
        if (m_total > 0)
            m_isDone = false; // the number of steps decides, which may be larger now
        m_p.context.endPreparation();
        m_p.control.apply(RunEvent::Prepared);
        stepUntilEnd();
    }
    conclude();
    if (!m_isPrepared || m_p.settings.lingerSeconds <= 0)
        return;
    if (m_p.control.isWatched())
        serveView(); // the last picture of the steps may be some of them old
    lookAround();
}

void RunLoop::begin(const std::optional<Checkpoint>& checkpoint)
{
    const auto& settings = m_p.settings;
    double elapsed = 0;
    std::int64_t lines = 0;
    if (checkpoint) {
        recall(*checkpoint);
        if (const auto own = checkpoint->state.find(kOwnState); own != checkpoint->state.end()) {
            elapsed = own->value("wall_s", 0.0);
            lines = own->value("metric_lines", std::int64_t{0});
        }
    }
    m_p.journal.open(elapsed, lines);
    if (settings.resumes)
        m_p.artifacts.restore(m_p.manifest.continueEarlier(m_p.context.step()));
    m_p.outbox.note({{"type", "begin"},
                     {"resumes", settings.resumes},
                     {"step", m_p.context.step()},
                     {"command", settings.command}});
    m_p.manifest.write(outcome(RunState::Starting), m_p.artifacts.list());
    m_savedAt = steadySeconds();
}

/// Throws InputError where a decisive field has another value than in the run that is resumed.
void RunLoop::expectSameDecisions(const Checkpoint& checkpoint) const
{
    const auto own = checkpoint.state.find(kOwnState);
    if (own == checkpoint.state.end())
        return;
    const auto then = own->value("decisive", std::map<std::string, std::string>());
    std::vector<std::string> differences;
    for (const auto& [key, value] : decisiveValues(m_given)) {
        const auto found = then.find(key);
        if (found != then.end() && found->second != value)
            differences.push_back(fmt::format("{} was {} and is {}", key, found->second, value));
    }
    if (!differences.empty())
        throw InputError(fmt::format("The run cannot go on, its numbers would not belong together: "
                                     "{}. Set these back, or start a new run.",
                                     fmt::join(differences, "; ")));
}

void RunLoop::recall(const Checkpoint& checkpoint)
{
    m_p.context.setStep(checkpoint.step);
    m_savedStep = checkpoint.step;
    const auto own = checkpoint.state.find(kOwnState);
    if (own == checkpoint.state.end())
        return;
    m_isDone = own->value("done", false);
    m_changes = own->value("live", LiveSettings::Values());
    m_savedChanges = m_changes;
    const auto before = own->value("live_before", LiveSettings::Values());
    const Config newest = m_p.live.newest();
    std::erase_if(m_changes, [&](const auto& change) {
        const std::string& key = change.first;
        if (m_given.schema().find(key) == nullptr)
            return true;
        // Newer than the change: another value in config.toml than when it was made, the command
        // line, and what somebody changes while this run starts.
        const auto known = before.find(key);
        return (known != before.end() && known->second != toToml(m_given.value(key))) ||
               m_given.origin(key).source == "--set" ||
               newest.origin(key).source == LiveSettings::kOrigin;
    });
    if (m_changes.empty())
        return;
    if (const auto refusal = m_p.live.change(m_changes)) {
        m_p.context.warn("E-LIVE", "Live changes of before were not taken over: " + *refusal);
        m_changes.clear();
    }
    m_p.context.setConfig(m_p.live.newest());
}

bool RunLoop::isAtEnd() const
{
    const std::int64_t total = m_total;
    return total > 0 ? m_p.context.step() >= total : m_isDone;
}

void RunLoop::updateTotal()
{
    m_total = m_run->totalSteps();
}

void RunLoop::stepUntilEnd()
{
    while (!isAtEnd()) {
        if (!serveWishes())
            return;
        oneStep();
        if (m_isDone)
            return;
        if (isSaveDue())
            saveCheckpoint();
    }
}

bool RunLoop::serveWishes()
{
    for (;;) {
        switch (m_p.control.take()) {
        case RunControl::Wish::Stop:
            return false;
        case RunControl::Wish::View:
            serveView();
            break;
        case RunControl::Wish::Save:
            saveCheckpoint();
            break;
        case RunControl::Wish::Configure:
            configure();
            break;
        case RunControl::Wish::Step:
        case RunControl::Wish::Time:
            return true;
        }
    }
}

void RunLoop::oneStep()
{
    ControllerContext& context = m_p.context;
    context.pacer().beginStep(steadySeconds(), m_p.frames.isWatched());
    const StepOutcome outcome = withSpace([&] { return m_run->step(context); });
    context.pacer().endStep(steadySeconds());
    if (outcome == StepOutcome::Interrupted)
        return;
    context.setStep(context.step() + 1);
    m_isDone = outcome == StepOutcome::Done;
    updateTotal();
}

bool RunLoop::isSaveDue() const
{
    const auto& settings = m_p.settings;
    const std::int64_t step = m_p.context.step();
    if (step == m_savedStep)
        return false;
    if (settings.checkpointSteps > 0 && step % settings.checkpointSteps == 0)
        return true;
    return settings.checkpointSeconds > 0 &&
           steadySeconds() - m_savedAt >= settings.checkpointSeconds;
}

nlohmann::json RunLoop::ownState() const
{
    LiveSettings::Values before;
    for (const auto& [key, value] : m_changes)
        before[key] = toToml(m_given.value(key));
    return {{"step", m_p.context.step()},
            {"wall_s", m_p.metrics.wallSeconds()},
            {"metric_lines", m_p.metrics.lines()},
            {"done", m_isDone},
            {"decisive", decisiveValues(m_given)},
            {"live", m_changes},
            {"live_before", before}};
}

void RunLoop::saveCheckpoint()
{
    std::filesystem::path path;
    withSpace([&] {
        if (m_p.settings.confirmLease)
            m_p.settings.confirmLease();
        Checkpoint checkpoint;
        checkpoint.step = m_p.context.step();
        m_run->save(m_p.context, checkpoint); // may report what it has held back until now
        m_p.journal.flush(); // a checkpoint must not know of numbers that metrics.csv lacks
        checkpoint.state[kOwnState] = ownState();
        path =
            vergence::saveCheckpoint(m_p.settings.folder, checkpoint, m_p.settings.keepCheckpoints);
        m_p.manifest.write(outcome(m_p.control.state()), m_p.artifacts.list());
    });
    m_savedStep = m_p.context.step();
    m_savedChanges = m_changes;
    m_savedAt = steadySeconds();
    m_p.outbox.tell({{"type", "checkpoint"},
                     {"step", m_savedStep},
                     {"path", path.lexically_relative(m_p.settings.folder.root).generic_string()}});
}

void RunLoop::configure()
{
    const auto keys = m_p.control.takeChangedSettings(); // first: what changes now comes again
    const Config newest = m_p.live.newest();
    for (const std::string& key : keys) {
        const std::string value = toToml(newest.value(key));
        m_changes[key] = value;
        m_p.outbox.note(
            {{"type", "live"}, {"key", key}, {"value", value}, {"step", m_p.context.step()}});
    }
    m_p.context.setConfig(newest);
}

void RunLoop::serveView()
{
    try {
        m_run->view(m_p.context, m_p.control.takeView());
    } catch (const std::exception&
                 error) { // a picture that fails must not end a run that does not need it
        m_p.context.warn("E-VIEW", fmt::format("The view could not be drawn: {}", error.what()));
    }
}

void RunLoop::conclude()
{
    if (m_isPrepared && (m_isDone || isAtEnd()))
        m_p.control.apply(RunEvent::Finished); // refused where a stop came with the last step
    if (m_isPrepared) {
        configure(); // what was accepted before the end
        if (m_savedStep != m_p.context.step() || m_savedChanges != m_changes)
            saveCheckpoint();
        withSpace([&] { m_run->finish(m_p.context); });
    }
    const bool isComplete = m_p.control.state() == RunState::Saving;
    const RunState last = isComplete ? RunState::Completed : RunState::Stopped;
    m_p.status.setExitCode(isComplete ? ExitCode::Success : m_p.control.stopCode());
    withSpace([&] {
        m_p.journal.flush();
        m_p.manifest.write(outcome(last), m_p.artifacts.list());
        m_p.status.clearProblem();
        m_p.status.write(now(last));
    });
    m_p.control.apply(isComplete ? RunEvent::Saved : RunEvent::StopReached);
    done(last);
}

void RunLoop::done(RunState state)
{
    m_p.outbox.tell({{"type", "done"},
                     {"state", nameOf(state)},
                     {"exit_code", m_p.status.status().exitCode.value_or(0)}});
}

void RunLoop::explore()
{
    const auto checkpoint = loadNewestCheckpoint(m_p.settings.folder);
    if (checkpoint)
        recall(*checkpoint);
    m_p.metrics.start(0, 0, {});
    m_run->prepare(m_p.context);
    if (!m_p.control.stopRequested()) {
        if (checkpoint)
            m_run->load(m_p.context, *checkpoint);
        updateTotal();
        serveView();
        lookAround();
    }
    m_p.status.setExitCode(ExitCode::Success);
    done(m_p.control.state());
}

void RunLoop::lookAround()
{
    const double given = m_p.settings.lingerSeconds;
    while (m_p.control.takeAfterEnd(given > 0 ? given : kExplorerPatience) ==
           RunControl::Wish::View)
        serveView();
}

RunManifest::Outcome RunLoop::outcome(RunState state) const
{
    const RunStatus status = m_p.status.status();
    RunManifest::Outcome outcome;
    outcome.state = nameOf(state);
    outcome.problem = status.problem;
    outcome.problemId = status.problemId;
    outcome.exitCode = status.exitCode;
    outcome.step = m_p.context.step();
    outcome.total = m_total;
    outcome.wallSeconds = m_p.metrics.wallSeconds();
    outcome.metrics = m_p.metrics.summary();
    outcome.notes = m_p.context.notes();
    outcome.tables = m_p.outbox.tables();
    outcome.controls = m_p.outbox.controls();
    outcome.streams = m_p.outbox.streams();
    outcome.flags = m_p.context.config().asFlags();
    return outcome;
}

StatusWriter::Now RunLoop::now(RunState state) const
{
    return {state, m_p.context.step(), m_total, m_p.context.currentPhase(), m_p.frames.ringNames()};
}

void RunLoop::fail(const std::exception_ptr& error) noexcept
{
    try {
        const RunFailure failure =
            describeFailure(error, m_p.context.step(), m_p.context.currentPhase());
        m_p.status.setExitCode(failure.code);
        log("run").error("{}: {}", failure.id, failure.sentence);
        m_p.outbox.tell({{"type", "problem"}, {"id", failure.id}, {"sentence", failure.sentence}});
        if (m_p.settings.exploresOnly) {
            done(m_p.control.state());
            return;
        }
        m_p.status.setProblem(failure.id, failure.sentence);
        try {
            m_p.journal.flush();
            m_p.manifest.write(outcome(RunState::Failed), m_p.artifacts.list());
        } catch (const OutputError& second) {
            log("run").error("The last numbers of the failed run could not be written: {}",
                             second.what());
        }
        m_p.control.apply(RunEvent::Failure);
        done(RunState::Failed);
    } catch (...) {
        // Not even the failure can be told, for want of memory. The state must still end.
        m_p.status.setExitCode(ExitCode::OutOfMemory);
        m_p.control.apply(RunEvent::Failure);
    }
}

} // namespace vergence
