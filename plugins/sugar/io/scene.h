#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/sugar/compute/camera.h"
#include "plugins/sugar/io/camera_model.h"
#include "plugins/sugar/io/text_fields.h"

namespace vergence::sugar {

/// A photograph as a scene description names it, before undistortion and scaling.
struct SourceView {
    std::string name;            ///< as written, '/' between folders
    std::filesystem::path image; ///< where the file lies; it may be missing
    int camera = 0;              ///< index into Scene::cameras
    std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1}; ///< world to camera, row-major
    std::array<double, 3> translation{};
    std::optional<bool> isTest; ///< where the description itself splits (transforms_test.json)
};

struct ScenePoint {
    std::array<double, 3> position{};
    std::array<std::uint8_t, 3> colour{};
    double error = 0;    ///< reprojection error, px
    int trackLength = 0; ///< views that see it
};

/// Something a user should know before training: what, where, what it means.
struct SceneFinding {
    enum class Severity { Notice, Warning };
    Severity severity = Severity::Warning;
    std::string sentence;
    std::string id = "E-DATA"; ///< or "E-MISSING": a file that is not there
};

/// Cameras, photographs and points in one world frame.
struct Scene {
    std::string kind; ///< "COLMAP binary", "COLMAP text", "transforms.json", "built-in"
    std::filesystem::path root;
    std::vector<SourceCamera> cameras;
    std::vector<SourceView> views; ///< sorted by name, bytewise
    std::vector<ScenePoint> points;
    std::vector<SceneFinding> findings;
    std::vector<DamagedLine> damaged; ///< lines that were left out
    std::optional<double> boxScale;   ///< side of the scene's box where it says so (aabb_scale)
    /// Transform that made this world from the original one, 3 × 4 row-major, where it says so.
    std::optional<std::array<double, 12>> appliedTransform;
    /// Draws the photographs of a built-in scene, whose `image` is empty; unset where they are
    /// files.
    std::function<Image(const Camera&)> painter;
};

/// The view of a camera without its lens distortion.
Camera pinholeCamera(const SourceCamera& source, const SourceView& view);

/// Reads a COLMAP model (binary or text; below `root`: sparse/0, sparse, itself, colmap/sparse/0)
/// or transforms.json. `images`: folder of the photographs; empty: <root>/images, else <root>.
/// Throws InputError with file, offset or line, and remedy. `skipsDamaged`: lines of a COLMAP text
/// that cannot be read are left out, with what they hold.
Scene readScene(const std::filesystem::path& root, const std::filesystem::path& images = {},
                bool skipsDamaged = false);

/// 1.1 · the greatest distance of a camera from the mean of all; from the points' 5–95 percentile
/// box where there is one camera only. World units.
double sceneExtent(const std::vector<Camera>& cameras, const std::vector<ScenePoint>& points);

/// Which views are kept for testing: every `every`-th of the sorted names, or what the scene says
/// itself. None where `every` is 0.
std::vector<bool> testViews(const Scene& scene, int every);

} // namespace vergence::sugar
