#include "plugins/sugar/pipeline/points_stage.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/log.h"
#include "plugins/sugar/io/mesh_ply.h"
#include "plugins/sugar/pipeline/packing.h"
#include "plugins/sugar/pipeline/results.h"
#include "plugins/sugar/pipeline/surface_settings.h"
#include "plugins/sugar/spatial/neighbours.h"
#include "plugins/sugar/surface/surface_filter.h"

namespace vergence::sugar {

std::vector<std::string> PointsStage::keys() const
{
    return {"surface_points",     "surface_level", "surface_scale",
            "outlier_deviations", "neighbours",    "align_prune"};
}

std::int64_t PointsStage::totalSteps(const Workspace& workspace) const
{
    return static_cast<std::int64_t>(workspace.learnt().size()) + 1;
}

bool PointsStage::start(RunContext& context, Workspace& workspace)
{
    const GaussianCloud cloud = withoutFaint(workspace.gaussians, workspace.config.alignPrune);
    const auto stop = [&] { return context.stopRequested(); };
    NeighbourTable neighbours =
        nearestNeighbours(cloud.position, workspace.config.neighbours, stop);
    if (neighbours.count == 0)
        return false;
    m_gaussians = upload(context.stream(), context.device(), cloud, cloud.count(), cloud.degree);
    m_extractor = std::make_unique<SurfaceExtractor>(
        context.stream(), m_gaussians, workspace.raster(), std::move(neighbours),
        pointSettings(workspace.config, workspace.config.surfaceLevel), workspace.learntCameras());
    m_points = {};
    m_done = 0;
    m_cameras = m_extractor->cameras();
    return true;
}

bool PointsStage::isDone() const
{
    return m_extractor && m_done == m_cameras + 1;
}

bool PointsStage::step(RunContext& context, Workspace& workspace)
{
    const auto stop = [&] { return context.stopRequested(); };
    if (m_done < m_cameras) {
        if (!m_extractor->extract(context.stream(), m_done, m_points, stop))
            return false;
        if (context.metricsDue())
            context.record("surface/points", static_cast<double>(m_points.count()));
    } else {
        const Index before = m_points.count();
        SurfacePoints kept = withoutOutliers(
            withoutBadNormals(m_points), {.deviations = workspace.config.outlierDeviations}, stop);
        if (stop())
            return false;
        m_points = std::move(kept);
        log("sugar").info("{} surface points; {} outliers were dropped.", m_points.count(),
                          before - m_points.count());
        if (m_points.count() == 0)
            throw InputError(fmt::format(
                "No ray of any picture met a surface at density {:.2g}: lower surface_level, or "
                "train and align longer.",
                workspace.config.surfaceLevel));
    }
    ++m_done;
    return true;
}

void PointsStage::save(RunContext&, Checkpoint& checkpoint) const
{
    checkpoint.tensors = packPoints(m_points);
    checkpoint.state["units"] = m_done;
}

void PointsStage::load(RunContext&, Workspace&, const Checkpoint& checkpoint)
{
    m_points = unpackPoints(tensorsOf(checkpoint));
    m_done = checkpoint.state.at("units").get<Index>();
}

void PointsStage::finish(RunContext&, Workspace& workspace)
{
    workspace.points = std::move(m_points);
}

void PointsStage::writeResults(RunContext& context, const Workspace& workspace) const
{
    const SurfacePoints& points = workspace.points;
    if (points.count() == 0)
        return;
    TriangleMesh cloud;
    cloud.position = points.position;
    cloud.normal = points.normal;
    cloud.colour = points.colour;
    moveBack(cloud, workspace.origin);
    writeMeshPly(context.artifacts().pathFor("surface/points.ply"), cloud);
    context.artifacts().add("surface/points.ply", "points",
                            fmt::format("{} surface points", points.count()));
}

void PointsStage::release()
{
    m_extractor.reset();
    m_gaussians = {};
}

std::vector<HostTensor> PointsStage::pack(const Workspace& workspace) const
{
    return packPoints(workspace.points);
}

void PointsStage::unpack(Workspace& workspace, const SafetensorsFile& file) const
{
    workspace.points = unpackPoints(file);
}

} // namespace vergence::sugar
