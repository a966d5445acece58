#include "plugins/foveated_vlm/foveated_vlm_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/artifact/host_tensors.h"
#include "core/base/clock.h"
#include "core/run/publish.h"
#include "plugins/foveated_vlm/session/control_beside.h"
#include "plugins/foveated_vlm/session/results.h"
#include "plugins/foveated_vlm/session/session.h"
#include "plugins/foveated_vlm/session/step_metrics.h"
#include "plugins/foveated_vlm/session/viewer.h"
#include "plugins/foveated_vlm/view/training_charts.h"

namespace vergence::fvlm {

namespace {

constexpr int kPhases = 2;
constexpr double kShowSeconds = 2; ///< between pictures of a run that goes on

Session::Hooks hooksOf(RunContext& context)
{
    Session::Hooks hooks;
    hooks.opening.doing = [&context](const std::string& what) { context.phase(1, kPhases, what); };
    hooks.opening.isStopped = [&context] { return context.stopRequested(); };
    hooks.warn = [&context](const std::string& id, const std::string& sentence) {
        context.warn(id, sentence);
    };
    return hooks;
}

/// Throws InputError where a decisive key differs; checkpoints of earlier versions know none.
void checkSame(const Config& config, const nlohmann::json& state)
{
    const auto then = state.value("facts", std::map<std::string, std::string>());
    const auto now = decisiveValues(config);
    std::vector<std::string> differences;
    for (const auto& [name, value] : then) {
        const auto found = now.find(name);
        if (found != now.end() && found->second != value)
            differences.push_back(fmt::format("{} was {} and is {}", name, value, found->second));
    }
    if (!differences.empty())
        throw InputError(fmt::format("The run cannot go on, its samples and weights would not "
                                     "belong together: {}. Set these back, or start a new run.",
                                     fmt::join(differences, "; ")));
}

} // namespace

class FoveatedVlmRun::Work {
public:
    Work(RunContext& context, const FoveatedVlmConfig& config)
        : m_results(config.compareWith),
          m_session(context.stream(), context.device(), config, context.artifacts().folder().root,
                    hooksOf(context))
    {
        if (!m_session.isReady() || !makeControls(context))
            return;
        context.phase(2, kPhases, "looking at held-out clips");
        m_viewer = std::make_unique<Viewer>(m_session);
        m_viewer->declare(context);
        context.note("clips", m_session.sets().training->digest());
        context.note("parameters", m_session.model().counts().all());
    }

    bool isReady() const { return m_viewer != nullptr; }

    StepOutcome step(RunContext& context)
    {
        follow(context);
        Trainer& trainer = m_session.trainer();
        if (trainer.needsReference() && !askReference(context))
            return StepOutcome::Interrupted;
        if (isTestDue() && !test(context))
            return StepOutcome::Interrupted;
        if (trainer.isDone())
            return StepOutcome::Done;
        if (!controlsFollow(context))
            return StepOutcome::Interrupted;
        const MicroStepReport report =
            trainer.microStep(context.stream(), [&] { return context.stopRequested(); });
        if (report.wasStopped)
            return StepOutcome::Interrupted;
        if (report.ranOutOfMemory)
            context.warn("W-MEMORY", fmt::format("The memory of the device was not enough: "
                                                 "micro-steps run in {} pieces from now on; the "
                                                 "results stay the same.",
                                                 report.pieces));
        record(context, trainer.isDone());
        if (context.framesDue() && steadySeconds() - m_shownAt >= kShowSeconds)
            publish(context);
        if (!trainer.isDone())
            return StepOutcome::Continue;
        // Stopped in the last test, the step is not done: what it learnt is saved, and a run that
        // goes on tests it.
        return isTestDue() && !test(context) ? StepOutcome::Interrupted : StepOutcome::Done;
    }

    std::int64_t totalSteps() const
    {
        const FoveatedVlmConfig& c = m_session.config();
        return m_session.trainer().settings().updates * c.gradAccum;
    }

    void save(RunContext& context, Checkpoint& checkpoint)
    {
        record(context, true);
        for (const auto& [name, tensor] : m_session.trainer().tensors())
            checkpoint.tensors.push_back(toHostTensor(context.stream(), name, tensor));
        for (const auto& control : m_controls)
            control->save(context.stream(), checkpoint);
        checkpoint.state["trainer"] = m_session.trainer().state();
        checkpoint.state["tested_at"] = m_testedAt;
        checkpoint.state["facts"] = decisiveValues(context.config());
        checkpoint.state["clips"] = m_session.sets().training->digest();
        checkpoint.state["results"] = m_results.state();
    }

    void load(RunContext& context, const Checkpoint& checkpoint)
    {
        try {
            checkSame(context.config(), checkpoint.state);
            if (checkpoint.state.at("clips").get<std::string>() !=
                m_session.sets().training->digest())
                throw InputError("The clips are not those that the run began with; it cannot go "
                                 "on with others.");
            NamedTensors saved;
            for (const HostTensor& tensor : checkpoint.tensors)
                saved.emplace_back(tensor.name,
                                   Tensor::wrap(makeCpuDevice(1),
                                                const_cast<std::byte*>(tensor.bytes.data()),
                                                tensor.shape, tensor.dtype));
            for (const auto& control : m_controls)
                control->load(context.stream(), checkpoint.state, saved);
            m_session.trainer().restore(context.stream(), checkpoint.state.at("trainer"), saved);
            context.stream().synchronize();
            m_testedAt = checkpoint.state.at("tested_at").get<Index>();
            m_results.restore(checkpoint.state.at("results"));
            m_metrics.recall(context, std::max<std::int64_t>(
                                          context.step(), m_session.trainer().counts().microSteps));
        } catch (const nlohmann::json::exception& failure) {
            throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
        }
        m_viewer->declare(context);
    }

    void finish(RunContext& context)
    {
        record(context, true);
        context.phase(1, 1, "writing results");
        m_results.write(context, m_session, m_viewer->looker(), m_metrics.store());
        if (context.frames().isWatched() && !context.stopRequested())
            publish(context);
        context.phase(1, 1, {});
    }

    void view(RunContext& context, const ViewInput& input)
    {
        const bool isFirst = m_shownAt == 0;
        if (m_viewer->apply(input, context) || isFirst)
            publish(context);
        if (isFirst)
            m_results.publish(context, m_session);
    }

private:
    /// Takes over what people changed meanwhile.
    void follow(RunContext& context)
    {
        const FoveatedVlmConfig now = readFoveatedVlmConfig(context.config());
        if (liveSettings(now) == liveSettings(m_session.config()) &&
            now.evalEvery == m_session.config().evalEvery)
            return;
        m_session.change(context.stream(), now);
        for (const auto& control : m_controls)
            control->change(context.stream(), now);
    }

    /// False where it was stopped.
    bool makeControls(RunContext& context)
    {
        const FoveatedVlmConfig& config = m_session.config();
        if (config.control != "beside")
            return true;
        Session::Hooks hooks = hooksOf(context);
        hooks.warn = [](const std::string&, const std::string&) {}; // told of the run itself
        for (const int tokens : config.controlTokens) {
            m_controls.push_back(
                std::make_unique<ControlBeside>(context.stream(), context.device(), config, tokens,
                                                context.artifacts().folder().root, hooks));
            if (!m_controls.back()->isReady())
                return false;
        }
        return true;
    }

    /// Controls go first, so that a stop among them leaves the run as it was.
    bool controlsFollow(RunContext& context)
    {
        const Index done = m_session.trainer().counts().microSteps;
        return std::ranges::all_of(m_controls, [&](const auto& control) {
            return control->follow(context.stream(), done, [&] { return context.stopRequested(); });
        });
    }

    void publish(RunContext& context)
    {
        m_shownAt = steadySeconds();
        m_viewer->publish(context);
        publishDrawing(context, "losses", lossChart(m_metrics.store()));
    }

    void record(RunContext& context, bool now)
    {
        double flop = 0;
        for (const auto& control : m_controls) {
            Session& session = control->session();
            m_metrics.recordControl(context, control->tokens(),
                                    session.trainer().takeRecords(context.stream(), now));
            flop += session.flop();
        }
        m_metrics.record(context, m_session, m_session.trainer().takeRecords(context.stream(), now),
                         flop);
    }

    bool isTestDue() const
    {
        const Trainer& trainer = m_session.trainer();
        const Index updates = trainer.counts().updates;
        const int every = m_session.config().evalEvery;
        if (!m_session.hasHeldOut() || updates == m_testedAt)
            return false;
        return trainer.isDone() || (every > 0 && updates > 0 && updates % every == 0);
    }

    bool askReference(RunContext& context)
    {
        context.phase(1, 1, "asking the reference");
        const bool isDone = m_session.trainer().makeReference(
            context.stream(), [&] { return context.stopRequested(); });
        context.phase(1, 1, {});
        return isDone;
    }

    /// False where it was stopped on the way; then it is done again.
    bool test(RunContext& context)
    {
        PhaseTeller teller(context);
        Trainer& trainer = m_session.trainer();
        const Trainer::AverageScope average(trainer, context.stream());
        const auto isStopped = [&] { return context.stopRequested(); };
        const auto all = static_cast<Index>(m_session.evaluator().members().size());
        const EvaluationReport report = m_session.evaluator().run(
            context.stream(), isStopped, [&](Index done) { teller.tell("testing", done, all); });
        if (report.wasStopped)
            return false;
        std::map<int, EvaluationRecord> controls;
        for (const auto& control : m_controls) {
            auto record = control->test(context.stream(), isStopped);
            if (!record)
                return false;
            controls[control->tokens()] = std::move(*record);
        }
        auto answers = Results::answers(context, m_session, m_viewer->looker(), teller);
        if (!answers)
            return false;
        teller.end();
        m_metrics.record(context, report);
        for (const auto& [tokens, record] : controls)
            m_metrics.recordControl(context, tokens, record);
        if (!controls.empty())
            m_results.compareWith(std::move(controls));
        const bool isBest = trainer.judge(report.judged());
        m_results.add(context, m_session, report, isBest, std::move(*answers));
        m_testedAt = trainer.counts().updates;
        return true;
    }

    Results m_results; ///< first: a control that is none ends the run before it is prepared
    Session m_session;
    std::vector<std::unique_ptr<ControlBeside>> m_controls; ///< trained beside
    StepMetrics m_metrics;
    std::unique_ptr<Viewer> m_viewer;
    Index m_testedAt = -1; ///< updates done at the last test
    double m_shownAt = 0;  ///< s; 0: not yet
};

FoveatedVlmRun::FoveatedVlmRun(FoveatedVlmConfig config) : m_config(std::move(config)) {}

FoveatedVlmRun::~FoveatedVlmRun() = default;

void FoveatedVlmRun::prepare(RunContext& context)
{
    m_work = std::make_unique<Work>(context, m_config);
}

StepOutcome FoveatedVlmRun::step(RunContext& context)
{
    return m_work->isReady() ? m_work->step(context) : StepOutcome::Interrupted;
}

std::int64_t FoveatedVlmRun::totalSteps() const
{
    return m_work && m_work->isReady() ? m_work->totalSteps() : m_config.totalMicroSteps();
}

void FoveatedVlmRun::save(RunContext& context, Checkpoint& checkpoint)
{
    if (m_work->isReady())
        m_work->save(context, checkpoint);
}

void FoveatedVlmRun::load(RunContext& context, const Checkpoint& checkpoint)
{
    if (m_work->isReady())
        m_work->load(context, checkpoint);
}

void FoveatedVlmRun::finish(RunContext& context)
{
    if (m_work->isReady())
        m_work->finish(context);
}

void FoveatedVlmRun::view(RunContext& context, const ViewInput& input)
{
    if (m_work->isReady())
        m_work->view(context, input);
}

} // namespace vergence::fvlm
