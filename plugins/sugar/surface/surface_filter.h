#pragma once

#include <functional>

#include "plugins/sugar/surface/scene_box.h"
#include "plugins/sugar/surface/surface_points.h"

namespace vergence::sugar {

// Selections from surface points. All keep the order of the points.

/// Points of one region of the box.
SurfacePoints insideRegion(const SurfacePoints& points, const SceneBox& box, Region region);

/// Without points whose position is not finite or whose normal is not of length 1 (to 1 %).
SurfacePoints withoutBadNormals(const SurfacePoints& points);

struct OutlierSettings {
    int neighbours = 20;
    double deviations = 20; ///< standard deviations above the mean; 2 is strict
};
/// Without points whose mean distance to their nearest others is greater than mean plus
/// `deviations` standard deviations of that of all. Fewer than three points stay as they are.
/// Positions must be finite. Comes back empty where `stop` said so.
/// Source: Towards 3D point cloud based object maps (2008), section 3.2.
SurfacePoints withoutOutliers(const SurfacePoints& points, const OutlierSettings& settings,
                              const std::function<bool()>& stop = {});

/// One point per cube of edge `voxel` (above 0), level and octant of normals: the mean position,
/// normal and colour of those in it. In the order of the first point of each. Positions must be
/// finite.
SurfacePoints thinned(const SurfacePoints& points, double voxel);

} // namespace vergence::sugar
