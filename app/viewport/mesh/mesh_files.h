#pragma once

#include <filesystem>

#include "app/viewport/mesh/view_mesh.h"

namespace vergence {

/// What a file holds, judged from its name and, for PLY, from its header.
enum class MeshFileKind {
    Mesh,
    PlyWithoutFaces, ///< Gaussians, a cloud of points, or damage
    Other
};

MeshFileKind meshFileKind(const std::filesystem::path& path);

/// Reads a GLB, OBJ or PLY file with its materials and pictures. Any thread. Throws InputError with
/// the name of the file, what is wrong with it and what to do.
ViewMesh readMeshFile(const std::filesystem::path& path);

} // namespace vergence
