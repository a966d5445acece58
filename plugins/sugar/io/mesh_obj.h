#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "plugins/sugar/mesh/mesh_axes.h"
#include "plugins/sugar/mesh/triangle_mesh.h"

namespace vergence::sugar {

/// `name.obj` with `name.mtl` and `name.png` beside it, `name-2.png` … for further pages, a
/// material each; positions with 9 significant digits, which give back the same numbers; `axes` as
/// a comment. Incomplete where `isStopped`, which is asked before every page, said so. Throws
/// OutputError. Source: Object files (.obj), Alias Wavefront Advanced Visualizer, appendix B1.
void writeObj(const std::filesystem::path& path, const TexturedMesh& mesh,
              const std::optional<MeshAxes>& axes = {},
              const std::function<bool()>& isStopped = {});

/// Polygons are cut into triangles; every material's picture is a page. Without a picture there are
/// no pages, without coordinates uv is empty. Throws InputError for a file that is damaged or has
/// no faces.
TexturedMesh readObj(const std::filesystem::path& path);

} // namespace vergence::sugar
