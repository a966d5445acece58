#pragma once

#include <functional>
#include <string>

#include "plugins/sugar/surface/reconstruction.h"
#include "plugins/sugar/surface/surface_points.h"

namespace vergence::sugar {

struct PoissonSettings {
    int depth = 10;     ///< of the octree, 1 to 16; 7 for objects, 9 where memory is short
    double scale = 1.1; ///< side of the cube over that of the points, above 1
};

/// Whether poissonSurface() can run here; if not and `reason` is given, why.
bool hasPoisson(std::string* reason = nullptr);

/// Screened Poisson reconstruction by Open3D. It runs in a program of its own beside the studio's
/// libraries, so that the library is loaded only here, its memory goes back at the end, and a stop
/// ends it within 100 ms. It works on one thread: on several, equal points give surfaces that
/// differ in their last bits. Positions and unit normals must be finite. The density is the depth
/// of the octree that fits the sampling. Empty for fewer than three points or where `stop` said so.
/// Throws Error where hasPoisson() is false or the program fails.
/// Source: Screened Poisson surface reconstruction (2013).
Reconstruction poissonSurface(const SurfacePoints& points, const PoissonSettings& settings,
                              const std::function<bool()>& stop = {});

} // namespace vergence::sugar
