#include "plugins/sugar/pipeline/level_explorer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

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

constexpr int kLeastDepth = 4, kMostDepth = 10;
/// What triangles may be reduced to.
constexpr std::array<Index, 7> kTriangles{1'000,   3'000,   10'000,   30'000,
                                          100'000, 300'000, 1'000'000};

std::size_t nearestChoice(Index triangles)
{
    std::size_t best = 0;
    for (std::size_t i = 1; i < kTriangles.size(); ++i) {
        const auto distance = [&](std::size_t at) {
            return std::abs(
                std::log(static_cast<double>(kTriangles[at]) / static_cast<double>(triangles)));
        };
        if (distance(i) < distance(best))
            best = i;
    }
    return best;
}

ViewControl choice(const char* id, const char* title, const char* help,
                   std::vector<std::string> labels, std::size_t chosen)
{
    return {.id = id,
            .title = title,
            .help = help,
            .kind = ViewControl::Kind::Choice,
            .value = {static_cast<double>(chosen)},
            .labels = std::move(labels)};
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
      m_triangles(kTriangles[nearestChoice(config.triangles)]),
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
    all.push_back(choice("explore_solver", "Solver", "How the surface is reconstructed.", m_solvers,
                         static_cast<std::size_t>(solver - m_solvers.begin())));
    all.push_back(slider("explore_level", "Level", "Density of the surface; not with tsdf.", 0.05,
                         0.9, m_choice.level));
    std::vector<std::string> depths;
    for (int depth = kLeastDepth; depth <= kMostDepth; ++depth)
        depths.push_back(fmt::format("{}", depth));
    const int depth = std::clamp(m_choice.depth, kLeastDepth, kMostDepth);
    all.push_back(choice("explore_depth", "Depth", "Depth of octree or grid.", std::move(depths),
                         static_cast<std::size_t>(depth - kLeastDepth)));
    all.push_back(slider("explore_quantile", "Quantile",
                         "Share of the least sampled vertices that goes; poisson only.", 0, 0.5,
                         m_choice.quantile));
    std::vector<std::string> triangles;
    for (const Index count : kTriangles)
        triangles.push_back(fmt::format("{}", count));
    all.push_back(choice("explore_triangles", "Triangles", "Of the foreground, at most.",
                         std::move(triangles), nearestChoice(m_triangles)));
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
    take("explore_depth", 0, kMostDepth - kLeastDepth, [&](double v) {
        return assign(m_choice.depth, kLeastDepth + static_cast<int>(std::lround(v)));
    });
    take("explore_quantile", 0, 0.5, [&](double v) { return assign(m_choice.quantile, v); });
    take("explore_triangles", 0, static_cast<double>(kTriangles.size() - 1), [&](double v) {
        return assign(m_triangles, kTriangles[static_cast<std::size_t>(std::lround(v))]);
    });
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
    SurfaceExtractor extractor(context.stream(), gaussians, own.raster(),
                               nearestNeighbours(cloud.position, own.config.neighbours, stop),
                               pointSettings(own.config, m_choice.level), own.learntCameras());
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
    auto volume = std::make_unique<TsdfVolume>(
        tsdfSettings(own, box, Region::Foreground, m_choice.depth), box, Region::Foreground);
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
                           const std::function<GaussianCloud()>& gaussians)
{
    if (!m_fullOf || !(*m_fullOf == m_choice)) {
        Workspace own;
        own.config = workspace.config;
        own.pictures = workspace.pictures;
        own.isTest = workspace.isTest;
        own.origin = workspace.origin;
        own.extent = workspace.extent;
        own.gaussians = gaussians();
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
    const auto reduced = reducedSurface(context, workspace, m_full, m_triangles);
    if (!reduced)
        return;
    writeMesh(context, *reduced, workspace, "explorer/mesh");
    reportMesh(context, *reduced, workspace, "explorer/mesh");
}

} // namespace vergence::sugar
