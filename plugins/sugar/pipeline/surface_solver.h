#pragma once

#include <optional>
#include <string>

#include "core/run/run_context.h"
#include "plugins/sugar/pipeline/workspace.h"
#include "plugins/sugar/surface/scene_box.h"
#include "plugins/sugar/surface/tsdf.h"

namespace vergence::sugar {

/// What a surface follows from, beside Gaussians and points.
struct SurfaceChoice {
    std::string solver; ///< "poisson", "tsdf" or "density"
    double level = 0.3; ///< of density
    int depth = 8;      ///< of octree or grid
    double quantile = 0.1;
    bool operator==(const SurfaceChoice&) const = default;
};
/// As the configuration has it.
SurfaceChoice surfaceChoice(const SugarConfig& config);

/// The surface of a region, cleaned and coloured by the points. `volume` holds fused depth and is
/// read by tsdf only. Nothing where a stop came first; an empty mesh where there is no surface.
std::optional<TriangleMesh> solvedSurface(RunContext& context, const Workspace& workspace,
                                          const SurfaceChoice& choice, const SceneBox& box,
                                          Region region, const TsdfVolume* volume);

/// At most `triangles` triangles, cleaned. Nothing where a stop came first.
std::optional<TriangleMesh> reducedSurface(RunContext& context, const Workspace& workspace,
                                           const TriangleMesh& mesh, Index triangles);

} // namespace vergence::sugar
