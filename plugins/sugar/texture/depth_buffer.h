#pragma once

#include <cstdint>
#include <vector>

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/mesh/mesh_vector.h"
#include "plugins/sugar/texture/texel_owners.h"

namespace vergence::sugar {

/// A point of the world in camera axes.
Point3 seenFrom(const Camera& camera, const Point3& point);

/// What of a mesh a camera has at every pixel centre, [H, W].
struct MeshHits {
    std::vector<float> depth;        ///< camera z of the nearest triangle, infinite without one
    std::vector<std::uint32_t> face; ///< that triangle, kNoFace without one
};
/// Both sides of triangles count; what is nearer than `near` (world units, above 0) is cut off.
MeshHits meshHits(const TriangleMesh& mesh, const Camera& camera, double near);
/// The depth alone.
std::vector<float> meshDepth(const TriangleMesh& mesh, const Camera& camera, double near);

} // namespace vergence::sugar
