#pragma once

#include <vector>

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Camera z of the nearest triangle at every pixel centre, [H, W], infinite where there is none.
/// Both sides of triangles count; what is nearer than `near` (world units, above 0) is cut off.
std::vector<float> meshDepth(const TriangleMesh& mesh, const Camera& camera, double near);

} // namespace vergence::sugar
