#pragma once

#include <filesystem>

#include "plugins/sugar/io/scene.h"

namespace vergence::sugar {

enum class SceneFormat { ColmapBinary, ColmapText, TransformsJson };

/// Cameras, poses and points below `folder`: sparse/0 or transforms.json with points.ply, which
/// names the photographs in images/. COLMAP knows no test views and gets tracks of the views that
/// look towards a point. Throws OutputError, also for a lens that the format has no words for.
void writeSceneDescription(const std::filesystem::path& folder, const Scene& scene,
                           SceneFormat format);
/// The same with the photographs: drawn, or copied from where they lie.
void writeScene(const std::filesystem::path& folder, const Scene& scene, SceneFormat format);

} // namespace vergence::sugar
