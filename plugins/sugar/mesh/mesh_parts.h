#pragma once

#include <cstdint>
#include <vector>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Throws ContractError where arrays of a mesh do not fit each other or a triangle names a vertex
/// that is not there.
void expectSound(const TriangleMesh& mesh);
/// The same where a triangle names a picture that is not there, or there is none.
void expectPages(const TexturedMesh& textured);

/// The faces whose `isKept` [F] is not 0 and the vertices that they use, in order.
TriangleMesh keptFaces(const TriangleMesh& mesh, const std::vector<std::uint8_t>& isKept);

/// Both meshes as one: faces of the first get the group 0, those of the second 1. Normals and
/// colours are kept where both have them.
TriangleMesh joined(const TriangleMesh& foreground, const TriangleMesh& background);

/// Overwrites the normals: unit means of face normals, weighted by the angle at the vertex. Zero
/// where there is no face of any size. Source: Computing vertex normals from polygonal facets
/// (1998).
void computeNormals(TriangleMesh& mesh);

} // namespace vergence::sugar
