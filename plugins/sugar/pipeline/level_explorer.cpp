#include "plugins/sugar/pipeline/level_explorer.h"

#include <algorithm>
#include <cmath>

#include "plugins/sugar/pipeline/mesh_report.h"
#include "plugins/sugar/pipeline/surface_settings.h"
#include "plugins/sugar/spatial/neighbours.h"
#include "plugins/sugar/surface/poisson.h"
#include "plugins/sugar/surface/surface_filter.h"

namespace vergence::sugar {

namespace {

template <class T>
bool assign(T& to, const T& value)
{
    const bool changes = !(to == value);
    to = value;
    return changes;
}

ViewControl slider(const char* id, const char* title, const char* help, double low, double high,
                   double value)
{
    return {.id = id,
            .title = title,
            .help = help,
            .kind = ViewControl::Kind::Slider,
            .minimum = {low},
            .maximum = {high},
            .value = {value}};
}

} // namespace

LevelExplorer::LevelExplorer(const SugarConfig& config)
    : m_choice(surfaceChoice(config)),
      m_logTriangles(std::log10(static_cast<double>(config.triangles))),
      m_solvers{"tsdf", "density"}
{
    if (hasPoisson())
        m_solvers.push_back("poisson");
}

std::vector<ViewControl> LevelExplorer::controls() const
{
    const auto solver = std::find(m_solvers.begin(), m_solvers.end(), m_choice.solver);
    std::vector<ViewControl> all;
    all.push_back({.id = "explore",
                   .title = "Other surfaces",
                   .help = "Makes explorer/mesh.ply anew whenever one of the following moves.",
                   .kind = ViewControl::Kind::Toggles,
                   .value = {m_isOn ? 1.0 : 0.0},
                   .labels = {"explore"}});
    all.push_back({.id = "explore_solver",
                   .title = "Solver",
                   .help = "How the surface is reconstructed.",
                   .kind = ViewControl::Kind::Choice,
                   .value = {static_cast<double>(solver - m_solvers.begin())},
                   .labels = m_solvers});
    all.push_back(slider("explore_level", "Level", "Density of the surface; not with tsdf.", 0.05,
                         0.9, m_choice.level));
    all.push_back(
        slider("explore_depth", "Depth", "Depth of octree or grid.", 4, 10, m_choice.depth));
    all.push_back(slider("explore_quantile", "Quantile",
                         "Share of the least sampled vertices that goes; poisson only.", 0, 0.5,
                         m_choice.quantile));
    all.push_back(slider("explore_triangles", "log10 triangles", "Triangles of the foreground.", 2,
                         6.5, m_logTriangles));
    return all;
}

bool LevelExplorer::apply(const ViewInput& input)
{
    bool changed = false;
    const auto take = [&](const char* id, double low, double high, auto set) {
        if (const auto value = input.scalar(id))
            changed |= set(std::clamp(*value, low, high));
    };
    take("explore", 0, 1, [&](double v) { return assign(m_isOn, v != 0); });
    take("explore_solver", 0, static_cast<double>(m_solvers.size() - 1), [&](double v) {
        return assign(m_choice.solver, m_solvers[static_cast<std::size_t>(std::lround(v))]);
    });
    take("explore_level", 0.05, 0.9, [&](double v) { return assign(m_choice.level, v); });
    take("explore_depth", 4, 10,
         [&](double v) { return assign(m_choice.depth, static_cast<int>(std::lround(v))); });
    take("explore_quantile", 0, 0.5, [&](double v) { return assign(m_choice.quantile, v); });
    take("explore_triangles", 2, 6.5, [&](double v) { return assign(m_logTriangles, v); });
    return changed && m_isOn;
}

/// Points of the level, searched once for each.
bool LevelExplorer::findPoints(RunContext& context, Workspace& own)
{
    const auto known = m_points.find(m_choice.level);
    if (known != m_points.end()) {
        own.points = known->second;
        return true;
    }
    const auto stop = [&] { return context.stopRequested(); };
    const GaussianCloud cloud = withoutFaint(own.gaussians, own.config.alignPrune);
    const Gaussians gaussians =
        upload(context.stream(), context.device(), cloud, cloud.count(), cloud.degree);
    SurfaceSettings settings;
    settings.points = own.config.surfacePoints;
    settings.scale = own.config.surfaceScale;
    settings.levels = {static_cast<float>(m_choice.level)};
    settings.seed = own.config.seed;
    SurfaceExtractor extractor(context.stream(), gaussians, own.raster(),
                               nearestNeighbours(cloud.position, own.config.neighbours, stop),
                               settings, own.learntCameras());
    SurfacePoints points;
    for (Index camera = 0; camera < extractor.cameras(); ++camera) {
        if (!extractor.extract(context.stream(), camera, points, stop))
            return false;
    }
    own.points = withoutOutliers(withoutBadNormals(points),
                                 {.deviations = own.config.outlierDeviations}, stop);
    m_points[m_choice.level] = own.points;
    return !stop();
}

/// Depth of all pictures in one volume, fused once for each depth.
bool LevelExplorer::fuse(RunContext& context, const Workspace& own)
{
    if (m_volumes.contains(m_choice.depth))
        return true;
    const SceneBox box = sceneBox(own);
    TsdfSettings settings;
    settings.voxel = box.voxelOf(Region::Foreground, m_choice.depth);
    settings.referenceDepth = own.extent;
    auto volume = std::make_unique<TsdfVolume>(settings, box, Region::Foreground);
    const GaussianCloud& cloud = own.gaussians;
    const Gaussians gaussians =
        upload(context.stream(), context.device(), cloud, cloud.count(), cloud.degree);
    DepthRenderer renderer(context.device(), own.raster());
    for (const Camera& camera : own.learntCameras()) {
        if (context.stopRequested())
            return false;
        volume->fuse(renderer.render(context.stream(), gaussians, camera, own.config.surfaceScale));
    }
    m_volumes[m_choice.depth] = std::move(volume);
    return true;
}

void LevelExplorer::update(RunContext& context, const Workspace& workspace,
                           const GaussianCloud& gaussians)
{
    if (!m_fullOf || !(*m_fullOf == m_choice)) {
        Workspace own = workspace;
        own.gaussians = gaussians;
        if (!findPoints(context, own) || (m_choice.solver == "tsdf" && !fuse(context, own)))
            return;
        const auto volume = m_volumes.find(m_choice.depth);
        auto found = solvedSurface(context, own, m_choice, sceneBox(own), Region::Foreground,
                                   volume == m_volumes.end() ? nullptr : volume->second.get());
        if (!found)
            return;
        m_full = std::move(*found);
        m_fullOf = m_choice;
    }
    if (m_full.faces() == 0) {
        context.warn("E-SURFACE", "There is no surface with these settings; lower the level.");
        return;
    }
    const auto triangles = static_cast<Index>(std::llround(std::pow(10.0, m_logTriangles)));
    const auto reduced = reducedSurface(context, workspace, m_full, triangles);
    if (!reduced)
        return;
    writeMesh(context, *reduced, workspace, "explorer/mesh");
    reportMesh(context, *reduced, workspace, "explorer/mesh");
}

} // namespace vergence::sugar
