#pragma once

#include <vector>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// What a solver makes of a surface.
struct Reconstruction {
    TriangleMesh mesh;
    std::vector<float> density; ///< [V] how well vertices are sampled, more is better; may be empty
};

} // namespace vergence::sugar
