#pragma once

#include <functional>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

struct DecimationSettings {
    Index triangles = 1'000'000;  ///< to reach
    double boundaryWeight = 1000; ///< of planes through boundary edges, over those of faces
    double largestTurn = 80;      ///< degrees that a face may turn in one step
    /// A difference of colour from black to white counts like this distance, over the diagonal of
    /// the mesh. 0: colours are not looked at.
    double colour = 0.005;
};

/// Collapses edges, the cheapest first, until the number of triangles is reached or nothing more
/// can go: a collapse must keep the surface a manifold, keep its boundary, and turn no face too
/// far. The cost is the quadric error of planes of faces and boundary, weighted by area, plus the
/// one of colours; a vertex goes to the place of least error. Normals are dropped, colours and
/// groups kept. A mesh that is small enough comes back as it is. Vertices of non-manifold edges
/// stay where they are; positions must be finite. `stop` is polled at least every 100 ms, except
/// while planes are gathered at the start (about 0.2 s per million triangles); the mesh so far
/// comes back. Results repeat.
/// Source: Surface simplification using quadric error metrics (1997).
TriangleMesh decimated(const TriangleMesh& mesh, const DecimationSettings& settings,
                       const std::function<bool()>& stop = {});

} // namespace vergence::sugar
