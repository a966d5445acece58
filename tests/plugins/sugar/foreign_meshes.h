#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace vergence::sugar::fixtures {

/// What another library found in the file of a mesh.
struct ForeignMesh {
    std::size_t vertices = 0, triangles = 0;
    std::array<double, 3> low{}, high{};    ///< of the positions as the file has them
    std::array<double, 4> turn{0, 0, 0, 1}; ///< of the node that shows it: x, y, z, w
    bool hasPicture = false;                ///< and every triangle a place in it
    std::string complaints;                 ///< errors and warnings; empty where there were none
};

ForeignMesh readByTinyGltf(const std::filesystem::path& glb);
ForeignMesh readByTinyObj(const std::filesystem::path& obj);
/// Nothing where the tests are built without Open3D.
std::optional<ForeignMesh> readByOpen3d(const std::filesystem::path& path);

} // namespace vergence::sugar::fixtures
