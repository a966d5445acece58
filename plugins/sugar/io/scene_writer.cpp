#include "plugins/sugar/io/scene_writer.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "plugins/sugar/io/colmap.h"
#include "plugins/sugar/io/scene_math.h"

namespace vergence::sugar {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

void makeFolder(const fs::path& folder)
{
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
        throwCannotWrite(folder, error.value());
}

const SourceCamera& cameraOf(const Scene& scene, const SourceView& view)
{
    return scene.cameras.at(static_cast<std::size_t>(view.camera));
}

void writePhotographs(const fs::path& folder, const Scene& scene)
{
    for (const SourceView& view : scene.views) {
        const fs::path target = folder / view.name;
        makeFolder(target.parent_path());
        if (scene.painter)
            writePng(target, scene.painter(pinholeCamera(cameraOf(scene, view), view)));
        else
            writeFileAtomic(target, readFile(view.image));
    }
}

/// Where a camera sees a point; nothing behind it or beside the picture.
std::optional<ColmapKeypoint> keypointOf(const Scene& scene, const SourceView& view,
                                         const ScenePoint& point)
{
    const SourceCamera& camera = cameraOf(scene, view);
    const Vector3 t = plus(times(view.rotation, point.position), view.translation);
    if (!(t[2] > 0))
        return std::nullopt;
    const auto [u, v] = camera.distort(t[0] / t[2], t[1] / t[2]);
    const ColmapKeypoint keypoint{camera.fx() * u + camera.cx(), camera.fy() * v + camera.cy(), -1};
    const bool isInside = keypoint.x >= 0 && keypoint.x < camera.width && keypoint.y >= 0 &&
                          keypoint.y < camera.height;
    return isInside ? std::optional(keypoint) : std::nullopt;
}

/// As many of the views that look towards a point as its track is long.
void addTrack(ColmapModel& model, const Scene& scene, std::size_t index)
{
    ColmapPoint& point = model.points[index];
    for (std::size_t i = 0; i < scene.views.size(); ++i) {
        if (static_cast<int>(point.track.size()) >= scene.points[index].trackLength)
            return;
        auto keypoint = keypointOf(scene, scene.views[i], scene.points[index]);
        if (!keypoint)
            continue;
        keypoint->point = static_cast<std::int64_t>(point.id);
        ColmapImage& image = model.images[i];
        point.track.push_back(
            {static_cast<int>(image.id), static_cast<int>(image.keypoints.size())});
        image.keypoints.push_back(*keypoint);
    }
}

ColmapModel colmapOf(const Scene& scene)
{
    ColmapModel model;
    model.cameras = scene.cameras;
    for (std::size_t i = 0; i < scene.views.size(); ++i) {
        const SourceView& view = scene.views[i];
        model.images.push_back({static_cast<std::uint32_t>(i + 1),
                                quaternionOf(view.rotation),
                                view.translation,
                                static_cast<std::uint32_t>(cameraOf(scene, view).id),
                                view.name,
                                {}});
    }
    for (std::size_t i = 0; i < scene.points.size(); ++i) {
        const ScenePoint& point = scene.points[i];
        model.points.push_back({i + 1, point.position, point.colour, point.error, {}});
        addTrack(model, scene, i);
    }
    return model;
}

json matrixOf(const SourceView& view)
{
    const Matrix3 r = transposed(view.rotation);
    const Vector3 c = plus({}, times(r, view.translation), -1);
    return json::array({{r[0], -r[1], -r[2], c[0]},
                        {r[3], -r[4], -r[5], c[1]},
                        {r[6], -r[7], -r[8], c[2]},
                        {0, 0, 0, 1}});
}

void setIntrinsics(json& target, const SourceCamera& source)
{
    const SourceCamera camera = source.withTwoFocals();
    const auto k = camera.lens();
    target["camera_model"] = nameOf(camera.model);
    target["w"] = camera.width;
    target["h"] = camera.height;
    target["fl_x"] = camera.fx();
    target["fl_y"] = camera.fy();
    target["cx"] = camera.cx();
    target["cy"] = camera.cy();
    std::vector<const char*> names;
    if (camera.model == CameraModel::OpenCv)
        names = {"k1", "k2", "p1", "p2"};
    else if (camera.model == CameraModel::OpenCvFisheye)
        names = {"k1", "k2", "k3", "k4"};
    else if (camera.model == CameraModel::FullOpenCv)
        names = {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"};
    else if (camera.model != CameraModel::Pinhole)
        throw OutputError(fmt::format("transforms.json has no words for the lens of camera {} "
                                      "({}). Write a COLMAP model instead.",
                                      camera.id, nameOf(camera.model)));
    for (std::size_t i = 0; i < names.size(); ++i)
        target[names[i]] = k[i];
}

void writePointPly(const fs::path& path, const std::vector<ScenePoint>& points)
{
    std::string text = fmt::format("ply\nformat ascii 1.0\nelement vertex {}\n", points.size());
    for (const char* property :
         {"double x", "double y", "double z", "uchar red", "uchar green", "uchar blue"})
        text += fmt::format("property {}\n", property);
    text += "end_header\n";
    for (const ScenePoint& point : points) {
        const auto& p = point.position;
        fmt::format_to(std::back_inserter(text), "{} {} {} {} {} {}\n", p[0], p[1], p[2],
                       point.colour[0], point.colour[1], point.colour[2]);
    }
    writeFileAtomic(path, text);
}

void writeTransforms(const fs::path& folder, const Scene& scene)
{
    json file, tests = json::array(), trained = json::array();
    const bool isSplit = std::any_of(scene.views.begin(), scene.views.end(),
                                     [](const SourceView& view) { return view.isTest; });
    if (scene.cameras.size() == 1)
        setIntrinsics(file, scene.cameras.front());
    for (const SourceView& view : scene.views) {
        json frame{{"file_path", "images/" + view.name}, {"transform_matrix", matrixOf(view)}};
        if (scene.cameras.size() != 1)
            setIntrinsics(frame, cameraOf(scene, view));
        (view.isTest.value_or(false) ? tests : trained).push_back(frame["file_path"]);
        file["frames"].push_back(std::move(frame));
    }
    if (isSplit) {
        file["train_filenames"] = trained;
        file["test_filenames"] = tests;
    }
    if (!scene.points.empty()) {
        file["ply_file_path"] = "points.ply";
        writePointPly(folder / "points.ply", scene.points);
    }
    writeFileAtomic(folder / "transforms.json", prettyJson(file));
}

} // namespace

void writeSceneDescription(const fs::path& folder, const Scene& scene, SceneFormat format)
{
    makeFolder(folder);
    if (format == SceneFormat::TransformsJson)
        writeTransforms(folder, scene);
    else
        writeColmap(folder / "sparse/0", colmapOf(scene),
                    format == SceneFormat::ColmapBinary ? ColmapForm::Binary : ColmapForm::Text);
}

void writeScene(const fs::path& folder, const Scene& scene, SceneFormat format)
{
    makeFolder(folder / "images");
    writePhotographs(folder / "images", scene);
    writeSceneDescription(folder, scene, format);
}

} // namespace vergence::sugar
