#pragma once

#include <filesystem>
#include <optional>

#include "plugins/sugar/mesh/mesh_axes.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Binary little-endian PLY: float positions, normals and 8-bit colours where the mesh has them;
/// triangles as lists of an 8-bit count and 32-bit rows, with their group (8 bits) where it is
/// known; `axes` as a comment. Throws OutputError.
/// Source: The PLY polygon file format (1994).
void writeMeshPly(const std::filesystem::path& path, const TriangleMesh& mesh,
                  const std::optional<MeshAxes>& axes = {});

/// ASCII or binary, properties in any order and type; polygons are cut into fans. What is unknown
/// is skipped. Throws InputError: no faces, rows that are not there, a file that ends early.
TriangleMesh readMeshPly(const std::filesystem::path& path);

} // namespace vergence::sugar
