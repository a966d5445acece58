#include "plugins/sugar/pipeline/align_stage.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/results.h"
#include "plugins/sugar/pipeline/step_metrics.h"
#include "plugins/sugar/pipeline/surface_settings.h"

namespace vergence::sugar {

std::vector<std::string> AlignStage::keys() const
{
    return {"align_steps",    "align_mode",        "entropy",           "regularise_from",
            "align_prune",    "regularise_ramp",   "samples",           "regularise_every",
            "density_factor", "normal_factor",     "neighbours",        "neighbours_every",
            "depth_normal",   "depth_normal_mode", "depth_normal_half", "depth_normal_every",
            "detach_samples", "field_filter"};
}

std::int64_t AlignStage::totalSteps(const Workspace& workspace) const
{
    return workspace.config.alignSteps;
}

bool AlignStage::start(RunContext& context, Workspace& workspace)
{
    AlignerSettings settings = alignerSettings(workspace, context.device()->isCpu());
    settings.cacheFolder = context.artifacts().folder().root / "stages" / "neighbours";
    m_aligner = std::make_unique<Aligner>(context.device(), std::move(settings), workspace.pictures,
                                          workspace.learnt());
    m_aligner->start(context.stream(), workspace.gaussians);
    return true;
}

bool AlignStage::step(RunContext& context, Workspace&)
{
    AlignmentReport alignment;
    if (!m_aligner->step(
            context.stream(), [&] { return context.stopRequested(); }, alignment))
        return false;
    report(context, alignment);
    return true;
}

bool AlignStage::isDone() const
{
    return m_aligner && m_aligner->isDone();
}

void AlignStage::report(RunContext& context, const AlignmentReport& report) const
{
    if (context.metricsDue())
        recordAlignment(context, report, m_aligner->gaussians().count);
    if (report.pruned)
        log("sugar").info("Step {} of the alignment: {} faint Gaussians dropped, {} left.",
                          report.step, report.prunedCount, m_aligner->gaussians().count);
    if (report.keptFaint)
        context.warn("E-OPACITY", "Fewer than 1,000 Gaussians were opaque enough to stay; the most "
                                  "opaque tenth was kept instead. Train longer, or lower "
                                  "align_prune.");
    if (report.notFinite > 0)
        context.warn("E-GRADIENT",
                     fmt::format("Gradients of {} Gaussians were not finite in step {} of the "
                                 "alignment; they were left as they are.",
                                 report.notFinite, report.step));
}

void AlignStage::save(RunContext& context, Checkpoint& checkpoint) const
{
    packTensors(context.stream(), m_aligner->tensors(), checkpoint);
    checkpoint.state["step"] = m_aligner->stepsDone();
    checkpoint.state["count"] = m_aligner->gaussians().count;
    checkpoint.state["degree"] = m_aligner->gaussians().value.degree();
}

void AlignStage::load(RunContext& context, Workspace&, const Checkpoint& checkpoint)
{
    const auto& state = checkpoint.state;
    m_aligner->restore(context.stream(), state.at("step").get<std::int64_t>(),
                       state.at("count").get<Index>(), state.at("degree").get<int>(),
                       tensorReaderOf(checkpoint));
}

void AlignStage::finish(RunContext& context, Workspace& workspace)
{
    workspace.gaussians = download(context.stream(), m_aligner->gaussians());
}

void AlignStage::writeResults(RunContext& context, const Workspace& workspace) const
{
    const GaussianCloud cloud =
        m_aligner ? download(context.stream(), m_aligner->gaussians()) : workspace.gaussians;
    writeGaussians(context, cloud, workspace, "aligned/");
}

void AlignStage::release()
{
    m_aligner.reset();
}

std::vector<HostTensor> AlignStage::pack(const Workspace& workspace) const
{
    return packCloud(workspace.gaussians);
}

void AlignStage::unpack(Workspace& workspace, const SafetensorsFile& file) const
{
    workspace.gaussians = unpackCloud(file);
}

const Gaussians* AlignStage::gaussians() const
{
    return m_aligner ? &m_aligner->gaussians() : nullptr;
}

RasterSettings AlignStage::raster() const
{
    return m_aligner->rasterSettings();
}

} // namespace vergence::sugar
