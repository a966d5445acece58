#pragma once

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Faces looked at, and how many of them cut a face with which they share no vertex.
struct SelfIntersections {
    Index sampled = 0, intersecting = 0;
};

/// Looks at `samples` faces, drawn without replacement by a fixed seed, or at all. Faces that only
/// touch or lie in one plane do not count. Positions must be finite.
SelfIntersections selfIntersections(const TriangleMesh& mesh, Index samples);

} // namespace vergence::sugar
