#include "plugins/sugar/io/scene.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/sugar/io/scene_math.h"
#include "plugins/sugar/io/scene_readers.h"

namespace vergence::sugar {

namespace fs = std::filesystem;

namespace {

struct FoundModel {
    fs::path folder;
    ColmapForm form;
};

const std::vector<const char*> kModelFolders{"sparse/0", "sparse", "", "colmap/sparse/0"};

std::optional<FoundModel> findColmap(const fs::path& root)
{
    for (const char* below : kModelFolders) {
        const fs::path folder = *below ? root / below : root;
        if (fs::exists(folder / "cameras.bin") && fs::exists(folder / "images.bin"))
            return FoundModel{folder, ColmapForm::Binary};
        if (fs::exists(folder / "cameras.txt") && fs::exists(folder / "images.txt"))
            return FoundModel{folder, ColmapForm::Text};
    }
    return std::nullopt;
}

Scene readColmapScene(const FoundModel& found, const fs::path& root, const fs::path& images,
                      bool skipsDamaged)
{
    const fs::path photographs =
        !images.empty() ? images : (fs::exists(root / "images") ? root / "images" : root);
    std::vector<DamagedLine> damaged;
    const ColmapModel model =
        readColmap(found.folder, found.form, skipsDamaged ? &damaged : nullptr);
    Scene scene = sceneFromColmap(model, found.form, found.folder, photographs);
    scene.root = root;
    scene.damaged = std::move(damaged);
    for (const char* extra : {"rigs", "frames"}) {
        for (const char* ending : {".bin", ".txt"}) {
            const fs::path file = found.folder / (std::string(extra) + ending);
            if (fs::exists(file))
                scene.findings.push_back(
                    {SceneFinding::Severity::Notice,
                     fmt::format("{} is not used: each image has a pose of its own.",
                                 file.string())});
        }
    }
    if (hasTransforms(root))
        scene.findings.push_back(
            {SceneFinding::Severity::Notice,
             fmt::format("{} also holds transforms.json, which is not used: the COLMAP model in {} "
                         "goes first.",
                         root.string(), found.folder.string())});
    return scene;
}

/// Value below which a share of the numbers lies, linear between neighbours.
double percentile(std::vector<double>& sorted, double share)
{
    std::sort(sorted.begin(), sorted.end());
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double pointBoxDiagonal(const std::vector<ScenePoint>& points)
{
    Vector3 sides{};
    for (std::size_t axis = 0; axis < 3 && !points.empty(); ++axis) {
        std::vector<double> values;
        values.reserve(points.size());
        for (const ScenePoint& point : points)
            values.push_back(point.position[axis]);
        sides[axis] = percentile(values, 0.95) - percentile(values, 0.05);
    }
    return length(sides);
}

void warnOfFocals(Scene& scene)
{
    for (const SourceCamera& camera : scene.cameras) {
        const int side = std::max(camera.width, camera.height);
        const double low = std::min(camera.fx(), camera.fy()),
                     high = std::max(camera.fx(), camera.fy());
        if (low < 0.1 * side || high > 20.0 * side)
            scene.findings.push_back(
                {SceneFinding::Severity::Warning,
                 fmt::format("Camera {} has a focal length of {:.4g} pixels for pictures of {} × "
                             "{}: its calibration looks wrong.",
                             camera.id, low < 0.1 * side ? low : high, camera.width,
                             camera.height)});
    }
}

} // namespace

Scene readScene(const fs::path& root, const fs::path& images, bool skipsDamaged)
{
    if (fs::is_regular_file(root))
        return readTransforms(root);
    if (!fs::is_directory(root))
        throw InputError(fmt::format(
            "There is no folder {}. Give the folder that holds sparse/0 or transforms.json.",
            root.string()));
    if (const auto found = findColmap(root))
        return readColmapScene(*found, root, images, skipsDamaged);
    if (hasTransforms(root))
        return readTransforms(root);
    throw InputError(fmt::format(
        "{} holds no scene: neither cameras and images (.bin or .txt) of COLMAP in sparse/0, "
        "sparse, the folder itself or colmap/sparse/0, nor transforms.json. Run COLMAP on the "
        "photographs or give the folder above sparse.",
        root.string()));
}

void finishScene(Scene& scene)
{
    std::sort(scene.views.begin(), scene.views.end(),
              [](const SourceView& a, const SourceView& b) { return a.name < b.name; });
    const auto same = std::adjacent_find(
        scene.views.begin(), scene.views.end(),
        [](const SourceView& a, const SourceView& b) { return a.name == b.name; });
    if (same != scene.views.end())
        throw InputError(fmt::format("{} names the photograph {} twice. Remove one of them.",
                                     scene.root.string(), same->name));
    warnOfFocals(scene);
}

Camera pinholeCamera(const SourceCamera& source, const SourceView& view)
{
    Camera camera;
    camera.rotation = view.rotation;
    camera.translation = view.translation;
    camera.fx = source.fx();
    camera.fy = source.fy();
    camera.cx = source.cx();
    camera.cy = source.cy();
    camera.width = source.width;
    camera.height = source.height;
    return camera;
}

double sceneExtent(const std::vector<Camera>& cameras, const std::vector<ScenePoint>& points)
{
    Vector3 mean{};
    for (const Camera& camera : cameras)
        mean = plus(mean, camera.centre(), 1.0 / static_cast<double>(cameras.size()));
    double farthest = 0;
    for (const Camera& camera : cameras)
        farthest = std::max(farthest, length(plus(camera.centre(), mean, -1)));
    if (cameras.size() > 1 && 1.1 * farthest >= 1e-6)
        return 1.1 * farthest;
    const double diagonal = pointBoxDiagonal(points);
    return diagonal > 0 ? 1.1 * diagonal / 2 : 1;
}

std::vector<bool> testViews(const Scene& scene, int every)
{
    expects(every >= 0, "testViews: `every` must not be negative");
    std::vector<bool> isTest(scene.views.size(), false);
    if (every == 0)
        return isTest;
    const bool isSplit = std::any_of(scene.views.begin(), scene.views.end(),
                                     [](const SourceView& view) { return view.isTest; });
    for (std::size_t i = 0; i < isTest.size(); ++i)
        isTest[i] = isSplit ? scene.views[i].isTest.value_or(false)
                            : i % static_cast<std::size_t>(every) == 0;
    return isTest;
}

} // namespace vergence::sugar
