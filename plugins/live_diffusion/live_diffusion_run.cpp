#include "plugins/live_diffusion/live_diffusion_run.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/live_diffusion/live_diffusion_config.h"
#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/session/shown.h"
#include "plugins/live_diffusion/session/source_report.h"

namespace vergence::live {

/// Parts in order; at most one is under way.
class LiveDiffusionRun::Work {
public:
    Work(RunContext& context, const LiveDiffusionConfig& config)
        : m_networks(context.device(), context.stream(), config,
                     [&context](const std::string& id, const std::string& sentence) {
                         context.warn(id, sentence);
                     })
    {
        for (const std::string& name : config.parts)
            m_parts.push_back(makePart(name, m_networks));
        context.note("network", m_networks.name());
    }

    StepOutcome step(RunContext& context)
    {
        const auto count = static_cast<int>(m_parts.size());
        if (!m_hasBegun) {
            if (m_done == 0)
                expectSource(m_networks.config());
            context.phase(m_current + 1, count, m_networks.config().parts[at()]);
            part().begin(context);
            m_hasBegun = true;
        }
        if (!m_isOver) { // else only its results could not be written yet
            m_isOver = !part().step(context);
            if (part().wasInterrupted())
                return StepOutcome::Interrupted;
            ++m_done;
        }
        if (!m_isOver)
            return StepOutcome::Continue;
        part().finish(context);
        m_hasBegun = m_isOver = false;
        return ++m_current == count ? StepOutcome::Done : StepOutcome::Continue;
    }

    std::int64_t totalSteps() const
    {
        std::int64_t total = m_done;
        for (std::size_t i = at(); i < m_parts.size(); ++i) {
            const bool isBegun = i == at() && m_hasBegun;
            // Only once it is begun does a part know that nothing is left for it.
            total += std::max<std::int64_t>(isBegun ? 0 : 1, m_parts[i]->stepsLeft());
        }
        return total;
    }

    void save(RunContext& context, Checkpoint& checkpoint)
    {
        checkpoint.state["part"] = m_current;
        checkpoint.state["done"] = m_done;
        checkpoint.state["begun"] = m_hasBegun;
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
            if (m_current < 0 || at() > m_parts.size())
                throw InputError("The checkpoint is damaged: it names a part that is not there.");
            const auto& parts = m_networks.config().parts;
            for (std::size_t i = 0; i < at(); ++i)
                if (parts[i] == "distill" ||
                    (parts[i] == "train" && m_networks.config().weights == "trained"))
                    m_networks.takeWeights(
                        context.stream(),
                        context.artifacts().folder().artifacts() /
                            (parts[i] == "train" ? kTrainedWeights : kDistilledWeights));
            if (at() == m_parts.size())
                context.declareControls({}); // nothing is left that they would move
            if (!checkpoint.state.at("begun").get<bool>() || at() == m_parts.size())
                return;
        } catch (const nlohmann::json::exception& failure) {
            throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
        }
        part().begin(context);
        m_hasBegun = true;
        part().load(context, checkpoint);
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

    Networks m_networks;
    Shown m_shown;
    std::vector<std::unique_ptr<Part>> m_parts;
    int m_current = 0;
    std::int64_t m_done = 0;
    bool m_hasBegun = false;
    bool m_isOver = false; ///< the part's steps are done, its results are not written
};

LiveDiffusionRun::LiveDiffusionRun() = default;
LiveDiffusionRun::~LiveDiffusionRun() = default;

void LiveDiffusionRun::prepare(RunContext& context)
{
    // Not as the run was made with: after a resume live changes of before are in it.
    m_work = std::make_unique<Work>(context, readLiveDiffusionConfig(context.config()));
}

StepOutcome LiveDiffusionRun::step(RunContext& context)
{
    return m_work->step(context);
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
    m_work->load(context, checkpoint);
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
