#pragma once

#include <vector>

#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// How finely the pictures show a mesh, pixels per world unit: the median over the surface of what
/// the nearest camera has that a triangle's centre is in sight of, whatever may lie between. A
/// texture with more texels holds no more detail. Looks at 20,000 triangles at most; 0 where no
/// camera sees one.
double pictureDensity(const TriangleMesh& mesh, const std::vector<Camera>& cameras, double near);

} // namespace vergence::sugar
