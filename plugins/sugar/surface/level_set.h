#pragma once

#include <functional>

#include "plugins/sugar/surface/density_field.h"
#include "plugins/sugar/surface/reconstruction.h"
#include "plugins/sugar/surface/surface_points.h"

namespace vergence::sugar {

struct LevelSetSettings {
    double voxel = 0.02; ///< edge, world units
    double level = 0.3;  ///< of density
    /// Nodes farther than this from every surface point are unknown, voxels.
    double band = 3;
};

/// The outer side of the level set d(x) = level, in blocks near surface points of that level. A
/// node is inside where the density is above the level, or where it lies behind the surface points
/// that are nearest to it: so a sheet of Gaussians gives one surface and not two. Where an edge
/// crosses the level, the vertex is found by regula falsi on the density itself. Empty without
/// points or where `stop` said so. Points must be finite. Runs on all threads; the result does not
/// depend on their number.
/// Source: SuGaR (2024), section 4.2; marching in marching.h.
Reconstruction levelSetSurface(const DensityField& field, const SurfacePoints& points,
                               const LevelSetSettings& settings,
                               const std::function<bool()>& stop = {});

} // namespace vergence::sugar
