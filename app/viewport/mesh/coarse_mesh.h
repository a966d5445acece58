#pragma once

#include "app/viewport/mesh/prepared_mesh.h"

namespace vergence {

/// Joins all vertices in a cell of a grid with `cells` cells along the longest side of the bounding
/// box; triangles that lose a corner are dropped, and those of the same three cells are kept once.
/// After Rossignac and Borrel, Multi-resolution 3D approximations for rendering complex scenes
/// (1993), with the first vertex of a cell as its representative.
MeshSurface coarsen(const MeshSurface& surface, const QVector3D& lowest, const QVector3D& highest,
                    int cells);

} // namespace vergence
