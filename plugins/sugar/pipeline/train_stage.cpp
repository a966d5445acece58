#include "plugins/sugar/pipeline/train_stage.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "plugins/sugar/pipeline/forecast.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/results.h"
#include "plugins/sugar/pipeline/settings.h"
#include "plugins/sugar/pipeline/step_metrics.h"

namespace vergence::sugar {

namespace {

constexpr std::int64_t kHistogramEvery = 500; ///< steps

void reportForecast(RunContext& context, Workspace& workspace, Index startCount)
{
    workspace.forecasts =
        stageForecasts({workspace.config, workspace.pictures->source(), startCount,
                        context.device()->isCpu(), workspace.bandRows});
    const MemoryForecast forecast = largest(workspace.forecasts);
    const DeviceMemory memory = context.device()->memory();
    context.table(forecastTable(forecast, *context.device()));
    context.note("forecast_bytes", forecast.total());
    if (const std::string warning = forecastWarning(forecast, memory); !warning.empty())
        context.warn("E-MEMORY", warning);
}

} // namespace

std::vector<std::string> TrainStage::keys() const
{
    return {"seed",
            "plan",
            "scene",
            "images",
            "damaged_lines",
            "masks",
            "mask_folder",
            "gaussians",
            "image_scale",
            "max_width",
            "undistort_fit",
            "built_in_width",
            "built_in_height",
            "gloss",
            "random_points",
            "eval_split",
            "eval_rule",
            "eval_count",
            "eval_each",
            "test_images",
            "iterations",
            "progressive",
            "sh_degree",
            "sh_every",
            "mip",
            "raster_radius",
            "background",
            "near",
            "dssim",
            "rate_position",
            "rate_position_final",
            "rate_sh_dc",
            "rate_sh_rest",
            "rate_opacity",
            "rate_scale",
            "rate_rotation",
            "adam_sparse",
            "adam_moments",
            "densify",
            "densify_from",
            "densify_until",
            "densify_every",
            "densify_gradient",
            "densify_absolute",
            "densify_percent",
            "prune_opacity",
            "reset_every",
            "cap",
            "cap_mode",
            "revised_opacity"};
}

std::int64_t TrainStage::totalSteps(const Workspace& workspace) const
{
    return workspace.config.iterations;
}

bool TrainStage::start(RunContext& context, Workspace& workspace)
{
    const SugarConfig& config = workspace.config;
    const PictureSource& pictures = workspace.pictures->source();
    Index dropped = 0;
    const GaussianCloud cloud = startingCloud(config, pictures, workspace.extent, &dropped);
    if (dropped > 0)
        context.warn("E-DATA",
                     fmt::format("{} of {} Gaussians of {} hold numbers that are not "
                                 "finite, or no rotation, and were left out.",
                                 dropped, dropped + cloud.count(), config.gaussians.string()));
    if (cloud.count() == 0)
        throw InputError("There is no Gaussian to start from: the file or the scene's points are "
                         "empty.");
    TrainerSettings settings = trainerSettings(config, workspace.extent, cloud);
    settings.bandRows = workspace.bandRows;
    m_trainer = std::make_unique<Trainer>(context.device(), std::move(settings), workspace.pictures,
                                          workspace.learnt());
    reportForecast(context, workspace, cloud.count());
    m_trainer->start(context.stream(), cloud);
    log("sugar").info("Starts from {} Gaussians; extent of the cameras {:.4g}.", cloud.count(),
                      workspace.extent);
    return true;
}

bool TrainStage::step(RunContext& context, Workspace& workspace)
{
    StepReport stepReport;
    if (!m_trainer->step(
            context.stream(), [&] { return context.stopRequested(); }, stepReport))
        return false;
    report(context, workspace, stepReport);
    keepMilestone(context, workspace);
    return true;
}

void TrainStage::report(RunContext& context, const Workspace& workspace,
                        const StepReport& report) const
{
    if (context.metricsDue())
        recordStep(context, report, m_trainer->gaussians().count);
    if (report.notFinite > 0)
        context.warn("E-GRADIENT",
                     fmt::format("Gradients of {} Gaussians were not finite in step {}; they were "
                                 "left as they are.",
                                 report.notFinite, report.step));
    const DensityReport& d = report.density;
    if (report.densified)
        log("sugar").debug(
            "Step {}: {} cloned, {} split, {} pruned (below {:.4f}), {} relocated, {} "
            "born; {} Gaussians.",
            report.step, d.cloned, d.split, d.pruned, d.pruneOpacity, d.relocated, d.born, d.count);
    if (report.step % kHistogramEvery == 0 || m_trainer->isDone()) {
        reportHistograms(context, m_trainer->gaussians(), workspace.extent);
        context.record("memory/trainer_mb", static_cast<double>(m_trainer->allocatedBytes()) / 1e6);
        context.note("allocated_bytes", m_trainer->allocatedBytes());
    }
}

void TrainStage::keepMilestone(RunContext& context, const Workspace& workspace) const
{
    const std::int64_t step = m_trainer->stepsDone();
    const auto& milestones = workspace.config.milestones;
    if (std::find(milestones.begin(), milestones.end(), step) != milestones.end() &&
        !m_trainer->isDone())
        writeGaussians(context, download(context.stream(), m_trainer->gaussians()), workspace,
                       fmt::format("milestones/step-{:06}/", step));
}

void TrainStage::save(RunContext& context, Checkpoint& checkpoint) const
{
    packTensors(context.stream(), m_trainer->tensors(), checkpoint);
    checkpoint.state["step"] = m_trainer->stepsDone();
    checkpoint.state["count"] = m_trainer->gaussians().count;
    checkpoint.state["degree"] = m_trainer->gaussians().value.degree();
}

void TrainStage::load(RunContext& context, Workspace&, const Checkpoint& checkpoint)
{
    const auto& state = checkpoint.state;
    m_trainer->restore(context.stream(), state.at("step").get<std::int64_t>(),
                       state.at("count").get<Index>(), state.at("degree").get<int>(),
                       tensorReaderOf(checkpoint));
}

void TrainStage::finish(RunContext& context, Workspace& workspace)
{
    workspace.gaussians = download(context.stream(), m_trainer->gaussians());
}

void TrainStage::writeResults(RunContext& context, const Workspace& workspace) const
{
    const GaussianCloud cloud =
        m_trainer ? download(context.stream(), m_trainer->gaussians()) : workspace.gaussians;
    writeGaussians(context, cloud, workspace, "");
}

std::vector<HostTensor> TrainStage::pack(const Workspace& workspace) const
{
    return packCloud(workspace.gaussians);
}

void TrainStage::unpack(Workspace& workspace, const SafetensorsFile& file) const
{
    workspace.gaussians = unpackCloud(file);
}

const Gaussians* TrainStage::gaussians() const
{
    return m_trainer ? &m_trainer->gaussians() : nullptr;
}

const DensityStatistics* TrainStage::statistics() const
{
    return m_trainer ? &m_trainer->state().statistics : nullptr;
}

RasterSettings TrainStage::raster() const
{
    return m_trainer->rasterSettings();
}

} // namespace vergence::sugar
