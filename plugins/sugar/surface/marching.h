#pragma once

#include <functional>

#include "plugins/sugar/mesh/triangle_mesh.h"
#include "plugins/sugar/surface/block_grid.h"

namespace vergence::sugar {

/// Where the surface crosses the edge between two nodes, as a share of the way from `outside` to
/// `inside` (world, [3]), given their numbers (≥ 0 and < 0). Called from several threads.
using EdgePlacer = std::function<double(const double* outside, const double* inside,
                                        double valueOutside, double valueInside)>;

/// The surface between nodes of numbers < 0 (inside) and ≥ 0, by marching cubes. Faces that could
/// be cut in two ways are always cut so that inside corners are kept apart, on both sides alike,
/// and a ring of edges that would need a diagonal in such a face is closed over a point in its
/// middle: the mesh has no non-manifold edge, and is closed except where cells have unknown nodes,
/// which give no triangle. Triangles run counter-clockwise seen from outside. `place` is linear
/// interpolation where empty. An empty mesh comes back where `stop` said so. Runs on all threads;
/// the result does not depend on their number.
/// Source: A modified look-up table for implicit disambiguation of marching cubes (1994).
TriangleMesh marched(const BlockGrid& grid, const EdgePlacer& place = {},
                     const std::function<bool()>& stop = {});

} // namespace vergence::sugar
