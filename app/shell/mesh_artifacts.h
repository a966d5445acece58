#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "app/viewport/mesh/mesh_choice.h"
#include "core/artifact/run_folder.h"

namespace vergence {

/// The file as the mesh view takes it, with a version that follows its time and size.
MeshChoice meshChoice(const QString& path, const QString& title);

/// Artifacts of the role "mesh" that are there in a format the window draws: GLB before OBJ before
/// PLY, the newest first among each.
std::vector<MeshChoice> meshesOf(const std::vector<nlohmann::json>& artifacts,
                                 const RunFolder& folder);

} // namespace vergence
