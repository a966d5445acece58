#include "plugins/sugar/pipeline/refine_stage.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plugins/sugar/pipeline/mesh_report.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/results.h"
#include "plugins/sugar/pipeline/step_metrics.h"
#include "plugins/sugar/pipeline/surface_settings.h"
#include "plugins/sugar/refine/binding_file.h"

namespace vergence::sugar {

std::vector<std::string> RefineStage::keys() const
{
    return {"refine_steps", "refine_per_triangle", "refine_normal", "refine_fixed_opacity"};
}

std::int64_t RefineStage::totalSteps(const Workspace& workspace) const
{
    return workspace.config.refineSteps;
}

bool RefineStage::start(RunContext& context, Workspace& workspace)
{
    m_refiner = std::make_unique<Refiner>(context.device(), refinerSettings(workspace),
                                          workspace.pictures, workspace.learnt());
    m_refiner->start(context.stream(), workspace.mesh);
    return true;
}

bool RefineStage::step(RunContext& context, Workspace&)
{
    RefineReport report;
    if (!m_refiner->step(
            context.stream(), [&] { return context.stopRequested(); }, report))
        return false;
    if (context.metricsDue())
        recordRefinement(context, report);
    if (report.notFinite > 0)
        context.warn("E-GRADIENT",
                     fmt::format("Gradients of {} Gaussians or vertices were not finite in step {} "
                                 "of the refinement; they were left as they are.",
                                 report.notFinite, report.step));
    return true;
}

bool RefineStage::isDone() const
{
    return m_refiner && m_refiner->isDone();
}

void RefineStage::save(RunContext& context, Checkpoint& checkpoint) const
{
    packTensors(context.stream(), m_refiner->tensors(), checkpoint);
    checkpoint.state["step"] = m_refiner->stepsDone();
}

void RefineStage::load(RunContext& context, Workspace& workspace, const Checkpoint& checkpoint)
{
    m_refiner->restore(context.stream(), workspace.mesh,
                       checkpoint.state.at("step").get<std::int64_t>(), readerOf(checkpoint));
}

void RefineStage::finish(RunContext& context, Workspace& workspace)
{
    workspace.mesh = m_refiner->mesh(context.stream());
    workspace.gaussians = download(context.stream(), m_refiner->gaussians());
    reportMesh(context, workspace.mesh, workspace, "mesh/refined");
}

void RefineStage::writeResults(RunContext& context, const Workspace& workspace) const
{
    constexpr const char* kBinding = "refined/binding.safetensors";
    constexpr const char* kAbout = "How the Gaussians hang on the triangles of mesh/refined.ply";
    if (!m_refiner) {
        writeGaussians(context, workspace.gaussians, workspace, "refined/");
        reportMesh(context, workspace.mesh, workspace, "mesh/refined");
        if (context.stopRequested())
            return;
        writeMesh(context, workspace.mesh, workspace, "mesh/refined");
        const auto own = context.artifacts().folder().artifacts() / kBinding;
        const auto earlier = RunFolder{workspace.config.reuseFrom}.artifacts() / kBinding;
        if (std::filesystem::is_regular_file(own) || !std::filesystem::is_regular_file(earlier))
            return;
        std::filesystem::copy_file(earlier, context.artifacts().pathFor(kBinding),
                                   std::filesystem::copy_options::overwrite_existing);
        context.artifacts().add(kBinding, "binding", kAbout);
        return;
    }
    // First: whatever a stop cuts short can be written without the refiner, but not this.
    Stream& stream = context.stream();
    writeBinding(context.artifacts().pathFor(kBinding),
                 bindingRecord(stream, m_refiner->binding(), m_refiner->parameters()));
    context.artifacts().add(kBinding, "binding", kAbout);
    writeGaussians(context, download(stream, m_refiner->gaussians()), workspace, "refined/");
    writeMesh(context, m_refiner->mesh(stream), workspace, "mesh/refined");
}

void RefineStage::release()
{
    m_refiner.reset();
}

std::vector<HostTensor> RefineStage::pack(const Workspace& workspace) const
{
    std::vector<HostTensor> all = packCloud(workspace.gaussians);
    for (HostTensor& tensor : packMesh(workspace.mesh))
        all.push_back(std::move(tensor));
    return all;
}

void RefineStage::unpack(Workspace& workspace, const SafetensorsFile& file) const
{
    workspace.gaussians = unpackCloud(file);
    workspace.mesh = unpackMesh(file);
}

const Gaussians* RefineStage::gaussians() const
{
    return m_refiner ? &m_refiner->gaussians() : nullptr;
}

RasterSettings RefineStage::raster() const
{
    return m_refiner->rasterSettings();
}

} // namespace vergence::sugar
