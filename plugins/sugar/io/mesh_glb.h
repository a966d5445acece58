#pragma once

#include <filesystem>
#include <functional>

#include "plugins/sugar/mesh/mesh_axes.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// Binary glTF 2.0 with the pictures inside as PNG, unlit; a primitive each. Corners that share
/// vertex and place in a picture become one. The node's rotation turns the scene's upper
/// side to y and its front to z, as the format has them; it is noted in the asset's extras, and
/// positions are the scene's own. Nothing is written where `isStopped`, which is asked before every
/// page, said so. Throws OutputError.
/// Source: glTF 2.0 specification (Khronos Group, 2021), sections 3 and 4.
void writeGlb(const std::filesystem::path& path, const TexturedMesh& mesh,
              const MeshAxes& axes = {}, const std::function<bool()>& isStopped = {});
/// Without a picture: colours of the vertices where the mesh has them.
void writeGlb(const std::filesystem::path& path, const TriangleMesh& mesh,
              const MeshAxes& axes = {});

} // namespace vergence::sugar
