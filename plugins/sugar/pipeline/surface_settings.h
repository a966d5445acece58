#pragma once

#include <string>

#include "plugins/sugar/io/mesh_glb.h"
#include "plugins/sugar/pipeline/workspace.h"
#include "plugins/sugar/refine/refiner.h"
#include "plugins/sugar/surface/scene_box.h"
#include "plugins/sugar/surface/surface_points.h"
#include "plugins/sugar/surface/tsdf.h"
#include "plugins/sugar/train/aligner.h"

namespace vergence::sugar {

// From configuration and workspace to what the stages after the first Gaussians want.

/// Least standard deviation that Gaussians on triangles have for density at borders, in extents.
inline constexpr double kLeastScale = 1e-3;

AlignerSettings alignerSettings(const Workspace& workspace, bool isCpu);
RefinerSettings refinerSettings(const Workspace& workspace);
/// Samples of the density a step.
Index samplesOf(const SugarConfig& config, bool isCpu);
/// Of the search for points at one level of density.
SurfaceSettings pointSettings(const SugarConfig& config, double level);
/// Of fused depth in 2^depth voxels across a region.
TsdfSettings tsdfSettings(const Workspace& workspace, const SceneBox& box, Region region,
                          int depth);
/// "poisson", "tsdf" or "density"; `auto` is decided.
std::string solverOf(const SugarConfig& config);
/// The user's box in the recentred world, or a cube about the mean camera.
SceneBox sceneBox(const Workspace& workspace);
/// Triangles of a smaller area count as none: 1e-12 squared extents.
double leastArea(double extent);
/// Gaussians above an opacity; all of them where fewer than 1,000 are.
GaussianCloud withoutFaint(const GaussianCloud& cloud, double opacity);
/// As the cameras stand: up against their y axes, the front where most of them are.
MeshAxes meshAxes(const Workspace& workspace);

} // namespace vergence::sugar
