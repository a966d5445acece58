#include "plugins/sugar/pipeline/surface_solver.h"

#include "core/base/log.h"
#include "plugins/sugar/mesh/decimation.h"
#include "plugins/sugar/mesh/mesh_cleaning.h"
#include "plugins/sugar/mesh/vertex_colour.h"
#include "plugins/sugar/pipeline/surface_settings.h"
#include "plugins/sugar/refine/post_process.h"
#include "plugins/sugar/spatial/neighbours.h"
#include "plugins/sugar/surface/density_field.h"
#include "plugins/sugar/surface/level_set.h"
#include "plugins/sugar/surface/poisson.h"
#include "plugins/sugar/surface/surface_filter.h"

namespace vergence::sugar {

namespace {

Reconstruction levelSet(RunContext& context, const Workspace& workspace,
                        const SurfaceChoice& choice, const SceneBox& box, Region region,
                        const SurfacePoints& points)
{
    const auto stop = [&] { return context.stopRequested(); };
    const SugarConfig& config = workspace.config;
    const GaussianCloud cloud = withoutFaint(workspace.gaussians, config.alignPrune);
    NeighbourTable neighbours = nearestNeighbours(cloud.position, config.neighbours, stop);
    if (stop())
        return {};
    const DensityField field(cloud, std::move(neighbours));
    LevelSetSettings settings;
    settings.voxel = box.voxelOf(region, choice.depth);
    settings.level = choice.level;
    return levelSetSurface(field, points, settings, stop);
}

Reconstruction reconstruction(RunContext& context, const Workspace& workspace,
                              const SurfaceChoice& choice, const SceneBox& box, Region region,
                              const TsdfVolume* volume)
{
    const auto stop = [&] { return context.stopRequested(); };
    if (choice.solver == "tsdf")
        return volume->reconstruct(stop);
    const SurfacePoints points = insideRegion(workspace.points, box, region);
    if (choice.solver == "poisson")
        return poissonSurface(points, {.depth = choice.depth}, stop);
    return levelSet(context, workspace, choice, box, region, points);
}

} // namespace

SurfaceChoice surfaceChoice(const SugarConfig& config)
{
    const std::string solver = solverOf(config);
    return {solver, config.surfaceLevel,
            solver == "poisson" ? config.poissonDepth : config.gridDepth, config.meshQuantile};
}

std::optional<TriangleMesh> solvedSurface(RunContext& context, const Workspace& workspace,
                                          const SurfaceChoice& choice, const SceneBox& box,
                                          Region region, const TsdfVolume* volume)
{
    const auto stop = [&] { return context.stopRequested(); };
    Reconstruction found = reconstruction(context, workspace, choice, box, region, volume);
    if (stop())
        return std::nullopt;
    CleaningSettings cleaning;
    cleaning.smallShare = workspace.config.meshParts;
    cleaning.quantile = choice.solver == "poisson" ? choice.quantile : 0;
    cleaning.leastArea = leastArea(workspace.extent);
    const Index raw = found.mesh.faces();
    clean(found.mesh, found.density, cleaning, stop);
    if (stop())
        return std::nullopt;
    log("sugar").info("{}: {} triangles, {} after cleaning.",
                      region == Region::Foreground ? "Foreground" : "Background", raw,
                      found.mesh.faces());
    if (found.mesh.faces() > 0 && workspace.points.count() > 0)
        colourVertices(found.mesh, {workspace.points.position, workspace.points.colour});
    return std::move(found.mesh);
}

std::optional<TriangleMesh> reducedSurface(RunContext& context, const Workspace& workspace,
                                           const TriangleMesh& mesh, Index triangles)
{
    DecimationSettings settings;
    settings.triangles = triangles;
    const auto stop = [&] { return context.stopRequested(); };
    TriangleMesh reduced = decimated(mesh, settings, stop);
    clean(reduced, {},
          {.smallShare = workspace.config.meshParts, .leastArea = leastArea(workspace.extent)},
          stop);
    if (stop())
        return std::nullopt;
    if (workspace.config.meshHoles > 0)
        reduced = withFilledHoles(reduced, workspace.config.meshHoles);
    return reduced;
}

} // namespace vergence::sugar
