#pragma once

#include <filesystem>

#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// `name.obj` with `name.mtl` and `name.png` beside it; positions with 9 significant digits, which
/// give back the same numbers. Throws OutputError.
/// Source: Object files (.obj), Alias Wavefront Advanced Visualizer, appendix B1.
void writeObj(const std::filesystem::path& path, const TexturedMesh& mesh);

/// Polygons are cut into triangles; the first picture that a material names is the texture (no
/// pixels without one, and uv is then empty). Throws InputError for a file that is damaged or has
/// no faces.
TexturedMesh readObj(const std::filesystem::path& path);

} // namespace vergence::sugar
