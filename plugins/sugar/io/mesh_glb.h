#pragma once

#include <filesystem>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// How the axes of the scene become those of a file, whose y axis points up.
enum class GlbAxes {
    AsTheyAre, ///< the scene's y axis already points up
    ZUp,       ///< (x, y, z) becomes (x, z, −y)
    YDown,     ///< (x, y, z) becomes (x, −y, −z), as for cameras
};

/// Binary glTF 2.0 with the pictures inside as PNG, unlit; a primitive each. Corners that share
/// vertex and place in a picture become one. The turn is the node's rotation and noted in the
/// asset's extras, so that positions are the scene's own. Throws OutputError. Source: glTF 2.0
/// specification (Khronos Group, 2021), sections 3 and 4.
void writeGlb(const std::filesystem::path& path, const TexturedMesh& mesh,
              GlbAxes axes = GlbAxes::ZUp);
/// Without a picture: colours of the vertices where the mesh has them.
void writeGlb(const std::filesystem::path& path, const TriangleMesh& mesh,
              GlbAxes axes = GlbAxes::ZUp);

} // namespace vergence::sugar
