#include "plugins/live_diffusion/live_diffusion_run.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/model/stop_scope.h"
#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/session/shown.h"
#include "plugins/live_diffusion/session/source_report.h"

namespace vergence::live {

namespace {

std::string phaseOf(PartKind part)
{
    switch (part) {
    case PartKind::Train:
        return "training";
    case PartKind::Distill:
        return "distilling";
    case PartKind::Stream:
        return "streaming";
    case PartKind::Ab:
        return "A/B run";
    case PartKind::Profile:
        return "profiling";
    case PartKind::Drift:
        return "closed loop";
    case PartKind::Onnx:
        break;
    }
    return "exporting ONNX";
}

} // namespace

/// Parts in order; at most one is under way.
class LiveDiffusionRun::Work {
public:
    Work(RunContext& context, const LiveDiffusionConfig& config)
        : m_networks(context.device(), context.stream(), config,
                     [&context](const std::string& id, const std::string& sentence) {
                         context.warn(id, sentence);
                     })
    {
        for (const PartKind kind : config.parts)
            m_parts.push_back(makePart(kind, m_networks));
        for (const auto& one : m_parts) // one at least, in which it finds that nothing is to do
            m_planned.push_back(std::max<std::int64_t>(1, one->stepsLeft()));
        context.note("network", m_networks.name());
    }

    StepOutcome step(RunContext& context)
    {
        if (m_spare > 0) // of a part that time ended early: as if they were made
            return counted(--m_spare);
        if (!m_hasBegun)
            begin(context);
        if (!m_isOver) { // else only its results could not be written yet
            m_isOver = !part().step(context);
            if (part().wasInterrupted())
                return StepOutcome::Interrupted;
            m_left = std::max<std::int64_t>(m_left - 1, part().stepsLeft());
            if (!m_isOver)
                return counted(0);
        }
        part().finish(context);
        m_hasBegun = m_isOver = false;
        m_spare = m_left;
        ++m_current;
        return counted(m_spare);
    }

    /// What is left out counts as done, so that the total stays what it was at the beginning.
    std::int64_t totalSteps() const
    {
        std::int64_t total = m_done + m_spare + (m_hasBegun ? m_left : 0);
        for (std::size_t i = at() + (m_hasBegun ? 1 : 0); i < m_parts.size(); ++i)
            total += m_planned[i];
        return total;
    }

    void save(RunContext& context, Checkpoint& checkpoint)
    {
        checkpoint.state["part"] = m_current;
        checkpoint.state["done"] = m_done;
        checkpoint.state["begun"] = m_hasBegun;
        checkpoint.state["spare"] = m_spare;
        Shown::save(context, checkpoint);
        if (m_hasBegun)
            part().save(context, checkpoint);
    }

    void load(RunContext& context, const Checkpoint& checkpoint)
    {
        m_shown.load(checkpoint);
        try {
            m_current = checkpoint.state.at("part").get<int>();
            m_done = checkpoint.state.at("done").get<std::int64_t>();
            m_spare = checkpoint.state.value("spare", std::int64_t{0});
            if (m_current < 0 || at() > m_parts.size())
                throw InputError("The checkpoint is damaged: it names a part that is not there.");
            const auto& parts = m_networks.config().parts;
            for (std::size_t i = 0; i < at(); ++i)
                if (parts[i] == PartKind::Distill ||
                    (parts[i] == PartKind::Train &&
                     m_networks.config().weights == WeightsFrom::Training))
                    m_networks.takeWeights(
                        context.stream(),
                        context.artifacts().folder().artifacts() /
                            (parts[i] == PartKind::Train ? kTrainedWeights : kDistilledWeights));
            if (at() == m_parts.size())
                context.declareControls({}); // nothing is left that they would move
            if (!checkpoint.state.at("begun").get<bool>() || at() == m_parts.size())
                return;
        } catch (const nlohmann::json::exception& failure) {
            throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
        }
        begin(context);
        part().load(context, checkpoint);
        m_left = part().stepsLeft();
    }

    void finish(RunContext& context)
    {
        if (m_hasBegun)
            part().finish(context);
        m_hasBegun = m_isOver = false;
    }

    void view(RunContext& context, const ViewInput& input)
    {
        m_shown.publish(context);
        for (std::size_t i = 0; i < m_parts.size() && i <= at(); ++i)
            m_parts[i]->view(context, input);
    }

private:
    std::size_t at() const { return static_cast<std::size_t>(m_current); }
    Part& part() { return *m_parts.at(at()); }
    void begin(RunContext& context)
    {
        if (m_done == 0)
            expectSource(m_networks.config());
        context.phase(m_current + 1, static_cast<int>(m_parts.size()),
                      phaseOf(m_networks.config().parts[at()]));
        part().begin(context);
        m_left = std::max(m_planned[at()], part().stepsLeft());
        m_hasBegun = true;
    }

    StepOutcome counted(std::int64_t spare)
    {
        ++m_done;
        return at() == m_parts.size() && spare == 0 ? StepOutcome::Done : StepOutcome::Continue;
    }

    Networks m_networks;
    Shown m_shown;
    std::vector<std::unique_ptr<Part>> m_parts;
    std::vector<std::int64_t> m_planned; ///< steps of each part, as said before it began
    int m_current = 0;
    std::int64_t m_done = 0;
    std::int64_t m_left = 0;  ///< steps of the part that has begun
    std::int64_t m_spare = 0; ///< steps that the part before did not need
    bool m_hasBegun = false;
    bool m_isOver = false; ///< the part's steps are done, its results are not written
};

namespace {

/// A stop ends the work between two of its pieces.
void untilStopped(RunContext& context, const std::function<void()>& work)
{
    const StopScope scope([&context] { return context.stopRequested(); });
    try {
        work();
    } catch (const Stopped&) { // whoever asked for it looks after the rest
    }
}

} // namespace

LiveDiffusionRun::LiveDiffusionRun() = default;
LiveDiffusionRun::~LiveDiffusionRun() = default;

void LiveDiffusionRun::prepare(RunContext& context)
{
    context.phase(1, 1, "loading weights");
    // Not as the run was made with: after a resume live changes of before are in it.
    untilStopped(context, [&] {
        m_work = std::make_unique<Work>(context, readLiveDiffusionConfig(context.config()));
    });
}

StepOutcome LiveDiffusionRun::step(RunContext& context)
{
    StepOutcome outcome = StepOutcome::Interrupted;
    untilStopped(context, [&] { outcome = m_work->step(context); });
    return outcome;
}

std::int64_t LiveDiffusionRun::totalSteps() const
{
    return m_work->totalSteps();
}

void LiveDiffusionRun::save(RunContext& context, Checkpoint& checkpoint)
{
    m_work->save(context, checkpoint);
}

void LiveDiffusionRun::load(RunContext& context, const Checkpoint& checkpoint)
{
    untilStopped(context, [&] { m_work->load(context, checkpoint); });
}

void LiveDiffusionRun::finish(RunContext& context)
{
    m_work->finish(context);
}

void LiveDiffusionRun::view(RunContext& context, const ViewInput& input)
{
    m_work->view(context, input);
}

} // namespace vergence::live
