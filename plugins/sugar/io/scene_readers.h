#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/sugar/io/colmap.h"
#include "plugins/sugar/io/image_header.h"
#include "plugins/sugar/io/scene.h"

namespace vergence::sugar {

/// Views, cameras and points of a COLMAP model that lies in `folder`; `images` as in readScene.
Scene sceneFromColmap(const ColmapModel& model, ColmapForm form,
                      const std::filesystem::path& folder, const std::filesystem::path& images);

/// Whether `folder` holds transforms.json or its split files.
bool hasTransforms(const std::filesystem::path& folder);
/// `place`: a folder, or the file itself. Throws InputError that names the file and the frame.
Scene readTransforms(const std::filesystem::path& place);

/// What one file holds; views in its order, cameras without repetition.
struct TransformsFile {
    Scene scene;
    std::string points; ///< `ply_file_path`, or empty
};
/// Size of a photograph; nothing where it cannot be read.
using MeasureImage = std::function<std::optional<ImageHeader>(const std::filesystem::path&)>;
/// `file` is for messages and the place of the photographs.
TransformsFile parseTransforms(std::string_view text, const std::filesystem::path& file,
                               const MeasureImage& measure);

/// Sorts by name and refuses the same name twice; adds what is odd about the focal lengths.
void finishScene(Scene& scene);

} // namespace vergence::sugar
