#pragma once

#include <vector>

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/mesh/mesh_vector.h"

namespace vergence::sugar {

/// A point of the world in camera axes.
Point3 seenFrom(const Camera& camera, const Point3& point);

/// Camera z of the nearest triangle at every pixel centre, [H, W], infinite where there is none.
/// Both sides of triangles count; what is nearer than `near` (world units, above 0) is cut off.
std::vector<float> meshDepth(const TriangleMesh& mesh, const Camera& camera, double near);

} // namespace vergence::sugar
