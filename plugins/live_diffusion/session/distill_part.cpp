#include "plugins/live_diffusion/session/distill_part.h"

#include <algorithm>
#include <cmath>

#include "plugins/live_diffusion/model/tape_network.h"

namespace vergence::live {

DistillPart::DistillPart(Networks& networks) : m_networks(networks) {}
DistillPart::~DistillPart() = default;

void DistillPart::begin(RunContext& context)
{
    const LiveDiffusionConfig& config = m_networks.config();
    const auto side = static_cast<int>(m_networks.description().settings.frameSize());
    m_pairs = std::make_unique<ScenePairs>(
        SceneSettings{SceneKind::Orbits, side, side, static_cast<std::uint32_t>(config.seed)},
        config.trainClips);
    m_base = m_networks.tape(context.stream(), false);
    m_student = m_networks.tape(context.stream(), true);
    DistillSettings settings;
    settings.samples = trainSettings(config).samples;
    settings.updates = config.distillUpdates;
    settings.warmup = std::min(settings.warmup, settings.updates - 1);
    m_distiller =
        std::make_unique<Distiller>(context.stream(), *m_student, *m_base, *m_pairs, settings);
}

bool DistillPart::advance(RunContext& context)
{
    const DistillRecord record = m_distiller->step(context.stream());
    m_done = record.update;
    if (context.metricsDue()) {
        context.record("distill_loss", record.loss);
        context.record("distill_rate", record.rate);
        if (std::isfinite(record.gradientNorm))
            context.record("distill_grad_norm", record.gradientNorm);
    }
    return !m_distiller->isDone();
}

std::int64_t DistillPart::stepsLeft() const
{
    return m_networks.config().distillUpdates - m_done;
}

void DistillPart::finish(RunContext& context)
{
    if (m_done == 0)
        return;
    ModelDescription description = m_networks.description();
    description.isConsistencyModel = true;
    saveModel(context.stream(), m_student->parameters(), description,
              context.artifacts().pathFor(kDistilledWeights));
    context.artifacts().add(kDistilledWeights, "weights", "Answers in few steps");
    context.artifacts().add("weights/distilled.json", "weights", "What the weights are of");
    auto weights = hostWeights(context.stream(), m_student->parameters());
    context.stream().synchronize();
    m_networks.setWeights(std::move(weights), description.settings, true);
    m_distiller = nullptr; // nothing of it is needed any more
    m_base = nullptr;
    m_student = nullptr;
}

} // namespace vergence::live
