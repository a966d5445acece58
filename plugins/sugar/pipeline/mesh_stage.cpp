#include "plugins/sugar/pipeline/mesh_stage.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "plugins/sugar/mesh/mesh_parts.h"
#include "plugins/sugar/pipeline/mesh_report.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/results.h"
#include "plugins/sugar/pipeline/surface_settings.h"

namespace vergence::sugar {

namespace {

/// After the pictures are fused: surfaces of both parts, their reduction, joining.
constexpr std::int64_t kLaterUnits = 5;

} // namespace

std::vector<std::string> MeshStage::keys() const
{
    return {"box",           "mesh_background", "solver",     "poisson_depth",
            "grid_depth",    "mesh_quantile",   "triangles",  "triangles_background",
            "surface_level", "neighbours",      "mesh_parts", "mesh_holes"};
}

std::int64_t MeshStage::totalSteps(const Workspace& workspace) const
{
    const bool fuses = solverOf(workspace.config) == "tsdf";
    return (fuses ? static_cast<std::int64_t>(workspace.learnt().size()) : 0) + kLaterUnits;
}

bool MeshStage::start(RunContext& context, Workspace& workspace)
{
    const SugarConfig& config = workspace.config;
    m_choice = surfaceChoice(config);
    log("sugar").info("The surface is reconstructed by {}.", m_choice.solver);
    m_cameras = workspace.learntCameras();
    m_box = sceneBox(workspace);
    m_total = totalSteps(workspace);
    m_done = m_replay = 0;
    m_parts = {};
    if (m_choice.solver != "tsdf")
        return true;
    const GaussianCloud& cloud = workspace.gaussians;
    m_gaussians = upload(context.stream(), context.device(), cloud, cloud.count(), cloud.degree);
    m_renderer = std::make_unique<DepthRenderer>(context.device(), workspace.raster());
    for (const Region region : {Region::Foreground, Region::Background}) {
        if (region == Region::Background && !config.meshBackground)
            continue;
        volume(region) = std::make_unique<TsdfVolume>(
            tsdfSettings(workspace, m_box, region, config.gridDepth), m_box, region);
    }
    return true;
}

bool MeshStage::isDone() const
{
    return m_total > 0 && m_done == m_total;
}

bool MeshStage::step(RunContext& context, Workspace& workspace)
{
    // Fused volumes are too large for checkpoints: a resumed run fuses again.
    while (m_done < m_replay) {
        if (!work(context, workspace, m_done))
            return false;
        ++m_done;
    }
    if (!work(context, workspace, m_done))
        return false;
    m_replay = ++m_done;
    return true;
}

bool MeshStage::work(RunContext& context, Workspace& workspace, std::int64_t unit)
{
    const std::int64_t later = unit - (m_total - kLaterUnits);
    if (later < 0)
        return fuse(context, workspace, static_cast<std::size_t>(unit));
    switch (later) {
    case 0:
        return solve(context, workspace, Region::Foreground);
    case 1:
        return !workspace.config.meshBackground || solve(context, workspace, Region::Background);
    case 2:
        return reduce(context, workspace, Region::Foreground);
    case 3:
        return reduce(context, workspace, Region::Background);
    default:
        join();
        return true;
    }
}

bool MeshStage::fuse(RunContext& context, const Workspace& workspace, std::size_t picture)
{
    m_renderer->setStop([&] { return context.stopRequested(); });
    const DepthView view = m_renderer->render(context.stream(), m_gaussians, m_cameras[picture],
                                              workspace.config.surfaceScale);
    m_renderer->setStop({});
    if (context.stopRequested())
        return false;
    for (const auto& volume : m_volumes) {
        if (volume)
            volume->fuse(view);
    }
    return true;
}

bool MeshStage::solve(RunContext& context, const Workspace& workspace, Region region)
{
    auto found = solvedSurface(context, workspace, m_choice, m_box, region, volume(region).get());
    if (!found)
        return false;
    volume(region).reset();
    part(region) = std::move(*found);
    return true;
}

bool MeshStage::reduce(RunContext& context, const Workspace& workspace, Region region)
{
    const SugarConfig& config = workspace.config;
    if (part(region).faces() == 0)
        return true;
    const double share = region == Region::Background ? config.trianglesBackground : 1;
    const auto triangles =
        std::max<Index>(4, static_cast<Index>(share * static_cast<double>(config.triangles)));
    auto reduced = reducedSurface(context, workspace, part(region), triangles);
    if (!reduced)
        return false;
    part(region) = std::move(*reduced);
    return true;
}

void MeshStage::join()
{
    m_mesh = joined(m_parts[0], m_parts[1]);
    if (m_mesh.faces() == 0)
        throw InputError("No surface was found: the Gaussians cover no picture well enough. Train "
                         "and align longer, or enlarge the foreground box.");
}

void MeshStage::save(RunContext&, Checkpoint& checkpoint) const
{
    checkpoint.tensors = packMesh(m_parts[0], "foreground.");
    for (HostTensor& tensor : packMesh(m_parts[1], "background."))
        checkpoint.tensors.push_back(std::move(tensor));
    for (HostTensor& tensor : packMesh(m_mesh, "mesh."))
        checkpoint.tensors.push_back(std::move(tensor));
    checkpoint.state["units"] = m_replay;
}

void MeshStage::load(RunContext&, Workspace&, const Checkpoint& checkpoint)
{
    const SafetensorsFile file = tensorsOf(checkpoint);
    m_parts = {unpackMesh(file, "foreground."), unpackMesh(file, "background.")};
    m_mesh = unpackMesh(file, "mesh.");
    m_replay = checkpoint.state.at("units").get<std::int64_t>();
    // Once a part is solved its volume is needed no more; before, fusing starts again.
    const bool isFused = m_replay > m_total - kLaterUnits + 1;
    m_done = isFused || m_choice.solver != "tsdf" ? m_replay : 0;
}

void MeshStage::finish(RunContext&, Workspace& workspace)
{
    workspace.mesh = std::move(m_mesh);
}

void MeshStage::writeResults(RunContext& context, const Workspace& workspace) const
{
    if (workspace.mesh.faces() == 0 || context.stopRequested())
        return;
    reportMesh(context, workspace.mesh, workspace, "mesh/coarse");
    if (context.stopRequested())
        return;
    writeMesh(context, workspace.mesh, workspace, "mesh/coarse");
}

void MeshStage::release()
{
    m_renderer.reset();
    m_gaussians = {};
    m_volumes = {};
    m_parts = {};
}

std::vector<HostTensor> MeshStage::pack(const Workspace& workspace) const
{
    return packMesh(workspace.mesh);
}

void MeshStage::unpack(Workspace& workspace, const SafetensorsFile& file) const
{
    workspace.mesh = unpackMesh(file);
}

} // namespace vergence::sugar
