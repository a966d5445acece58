#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/sugar/io/scene_math.h"
#include "plugins/sugar/io/scene_readers.h"

namespace vergence::sugar {

namespace {

bool isFinite(const Vector3& a)
{
    return std::isfinite(a[0]) && std::isfinite(a[1]) && std::isfinite(a[2]);
}

std::map<std::uint32_t, int> indexOfCameras(const ColmapModel& model,
                                            const std::filesystem::path& folder)
{
    std::map<std::uint32_t, int> index;
    for (std::size_t i = 0; i < model.cameras.size(); ++i) {
        const auto id = static_cast<std::uint32_t>(model.cameras[i].id);
        if (!index.emplace(id, static_cast<int>(i)).second)
            throw InputError(fmt::format("{}: camera {} is there twice. Export the model again.",
                                         folder.string(), id));
    }
    return index;
}

SourceView viewOf(const ColmapImage& image, const std::string& folder)
{
    const auto& q = image.quaternion;
    const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(std::abs(norm - 1) <= 1e-3) || !isFinite(image.translation))
        throw InputError(fmt::format(
            "{}: the pose of image {} ({}) is broken: its quaternion has the length {:.6g} instead "
            "of 1, or its translation is not finite. Export the model from COLMAP again.",
            folder, image.id, image.name, norm));
    SourceView view;
    view.name = image.name;
    view.rotation = rotationOf({q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm});
    view.translation = image.translation;
    return view;
}

void addPoints(Scene& scene, const ColmapModel& model)
{
    std::size_t dropped = 0;
    scene.points.reserve(model.points.size());
    for (const ColmapPoint& point : model.points) {
        if (!isFinite(point.position)) {
            ++dropped;
            continue;
        }
        scene.points.push_back(
            {point.position, point.colour, point.error, static_cast<int>(point.track.size())});
    }
    if (dropped > 0)
        scene.findings.push_back(
            {SceneFinding::Severity::Warning,
             fmt::format("{} points of {} have no finite position and are left out.", dropped,
                         scene.root.string())});
    if (scene.points.empty())
        scene.findings.push_back(
            {SceneFinding::Severity::Warning,
             fmt::format("{} holds no points: training starts from random ones.",
                         scene.root.string())});
}

} // namespace

Scene sceneFromColmap(const ColmapModel& model, ColmapForm form,
                      const std::filesystem::path& folder, const std::filesystem::path& images)
{
    Scene scene;
    scene.kind = form == ColmapForm::Binary ? "COLMAP binary" : "COLMAP text";
    scene.root = folder;
    scene.cameras = model.cameras;
    const auto cameras = indexOfCameras(model, folder);
    for (const ColmapImage& image : model.images) {
        const auto camera = cameras.find(image.camera);
        if (camera == cameras.end())
            throw InputError(fmt::format(
                "{}: image {} ({}) refers to camera {}, which is not there. Export the model from "
                "COLMAP again.",
                folder.string(), image.id, image.name, image.camera));
        SourceView& view = scene.views.emplace_back(viewOf(image, folder.string()));
        view.camera = camera->second;
        view.image = images / view.name;
    }
    if (scene.views.empty())
        throw InputError(
            fmt::format("{} holds no registered image. Let COLMAP reconstruct the scene first.",
                        folder.string()));
    addPoints(scene, model);
    finishScene(scene);
    return scene;
}

} // namespace vergence::sugar
