#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/mapped_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/sugar/io/ply.h"
#include "plugins/sugar/io/scene_math.h"
#include "plugins/sugar/io/scene_readers.h"
#include "plugins/sugar/io/transforms_intrinsics.h"

namespace vergence::sugar {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kSingle = "transforms.json";
constexpr const char* kTrain = "transforms_train.json";
constexpr const char* kTest = "transforms_test.json";
constexpr const char* kValidation = "transforms_val.json";

/// The numbers of a matrix of three or four rows of four; the fourth row is not looked at.
std::array<double, 12> matrixOf(const json& rows, const TransformsKeys& keys, const char* key)
{
    if (!rows.is_array() || rows.size() < 3 || rows.size() > 4)
        keys.fail(fmt::format("{} is no matrix of 3 or 4 rows", key));
    std::array<double, 12> matrix{};
    for (std::size_t row = 0; row < 3; ++row) {
        if (!rows[row].is_array() || rows[row].size() != 4)
            keys.fail(fmt::format("row {} of {} has not 4 numbers", row, key));
        for (std::size_t column = 0; column < 4; ++column) {
            const json& value = rows[row][column];
            if (!value.is_number() || !std::isfinite(value.get<double>()))
                keys.fail(fmt::format("row {} of {} holds no finite number", row, key));
            matrix[4 * row + column] = value.get<double>();
        }
    }
    return matrix;
}

bool isRotation(const Matrix3& r)
{
    const Vector3 x{r[0], r[3], r[6]}, y{r[1], r[4], r[7]}, z{r[2], r[5], r[8]};
    const Vector3 cross{x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2],
                        x[0] * y[1] - x[1] * y[0]};
    constexpr double kTolerance = 1e-2;
    return std::abs(dot(x, x) - 1) < kTolerance && std::abs(dot(y, y) - 1) < kTolerance &&
           std::abs(dot(z, z) - 1) < kTolerance && std::abs(dot(x, y)) < kTolerance &&
           std::abs(dot(cross, z) - 1) < kTolerance;
}

/// Camera to world with y up and z backward becomes world to camera with y down and z forward.
void setPose(SourceView& view, const json& frame, const TransformsKeys& keys)
{
    if (!frame.contains("transform_matrix"))
        keys.fail("transform_matrix is missing");
    const auto m = matrixOf(frame["transform_matrix"], keys, "transform_matrix");
    const Matrix3 cameraToWorld{m[0], -m[1], -m[2], m[4], -m[5], -m[6], m[8], -m[9], -m[10]};
    if (!isRotation(cameraToWorld))
        keys.fail("transform_matrix holds no rotation (mirrored, scaled or skewed)");
    view.rotation = transposed(rotationOf(quaternionOf(cameraToWorld)));
    view.translation = plus({}, times(view.rotation, {m[3], m[7], m[11]}), -1);
}

/// The path as written, or with the ending of the photograph that is there.
std::string withEnding(const std::string& name, const fs::path& folder)
{
    if (fs::is_regular_file(folder / name))
        return name;
    for (const char* ending : {".png", ".jpg", ".jpeg"}) {
        if (fs::is_regular_file(folder / (name + ending)))
            return name + ending;
    }
    return fs::path(name).has_extension() ? name : name + ".png";
}

std::string nameOf(const TransformsKeys& keys, const fs::path& folder)
{
    auto path = keys.text("file_path");
    if (!path || path->empty() || path->find('\0') != std::string::npos)
        keys.fail("file_path is missing");
    std::replace(path->begin(), path->end(), '\\', '/');
    return withEnding(fs::path(*path).lexically_normal().generic_string(), folder);
}

int indexOf(std::vector<SourceCamera>& cameras, SourceCamera camera)
{
    const auto same = std::find_if(cameras.begin(), cameras.end(), [&](const SourceCamera& other) {
        return other.model == camera.model && other.width == camera.width &&
               other.height == camera.height && other.parameters == camera.parameters;
    });
    if (same != cameras.end())
        return static_cast<int>(same - cameras.begin());
    camera.id = static_cast<int>(cameras.size()) + 1;
    cameras.push_back(std::move(camera));
    return static_cast<int>(cameras.size()) - 1;
}

std::set<std::string> listedNames(const json& file, const char* key)
{
    std::set<std::string> names;
    if (file.contains(key) && file[key].is_array()) {
        for (const json& name : file[key]) {
            if (name.is_string())
                names.insert(fs::path(name.get<std::string>()).lexically_normal().generic_string());
        }
    }
    return names;
}

/// test_filenames, or val_filenames where there is none of the former.
void markTestViews(Scene& scene, const json& file)
{
    const bool isSplit = file.contains("test_filenames") || file.contains("val_filenames");
    if (!isSplit)
        return;
    auto tests = listedNames(file, "test_filenames");
    if (tests.empty())
        tests = listedNames(file, "val_filenames");
    for (SourceView& view : scene.views)
        view.isTest = tests.contains(view.name);
}

void addView(Scene& scene, const json& frame, const json& file, const fs::path& path,
             const MeasureImage& measure)
{
    const std::size_t number = scene.views.size();
    const TransformsKeys keys(frame, file, fmt::format("{}, frame {}", path.string(), number));
    if (!frame.is_object())
        keys.fail("the frame is no object");
    const fs::path folder = path.parent_path();
    SourceView& view = scene.views.emplace_back();
    view.name = nameOf(keys, folder);
    view.image = folder / view.name;
    setPose(view, frame, keys);
    const auto measured = [&]() -> std::optional<ImageHeader> {
        if (const auto header = measure(view.image))
            return header;
        if (scene.cameras.empty())
            return std::nullopt;
        return ImageHeader{scene.cameras.front().width, scene.cameras.front().height};
    };
    view.camera = indexOf(scene.cameras, cameraOfFrame(keys, measured));
}

std::optional<ImageHeader> measuredFile(const fs::path& path)
{
    try {
        return readImageHeader(path);
    } catch (const InputError&) {
        return std::nullopt; // missing and broken photographs are reported where they are read
    }
}

std::vector<ScenePoint> readPointPly(const fs::path& path, std::size_t& dropped)
{
    const MappedFile file(path);
    const PlyVertices ply(file.bytes(), path.string());
    const std::array<std::size_t, 3> xyz{ply.required("x"), ply.required("y"), ply.required("z")};
    const std::array<std::optional<std::size_t>, 3> rgb{ply.column("red"), ply.column("green"),
                                                        ply.column("blue")};
    std::vector<ScenePoint> points;
    points.reserve(ply.count());
    ply.forEachRow([&](std::size_t, std::span<const double> values) {
        ScenePoint point;
        bool isFinite = true;
        for (std::size_t i = 0; i < 3; ++i) {
            point.position[i] = values[xyz[i]];
            isFinite = isFinite && std::isfinite(point.position[i]);
            const double colour = rgb[i] ? values[*rgb[i]] : 128;
            point.colour[i] = static_cast<std::uint8_t>(colour >= 0 && colour <= 255 ? colour : 0);
        }
        if (isFinite)
            points.push_back(point);
        else
            ++dropped;
    });
    return points;
}

void addPoints(Scene& scene, const std::string& name)
{
    if (!name.empty()) {
        std::size_t dropped = 0;
        scene.points = readPointPly(scene.root / name, dropped);
        if (dropped > 0)
            scene.findings.push_back(
                {SceneFinding::Severity::Warning,
                 fmt::format("{} points of {} have no finite position and are left out.", dropped,
                             name)});
    }
    if (scene.points.empty())
        scene.findings.push_back(
            {SceneFinding::Severity::Notice,
             fmt::format("{} names no points: training starts from random ones.",
                         scene.root.string())});
}

TransformsFile readFileOf(const fs::path& path)
{
    return parseTransforms(readFile(path), path, measuredFile);
}

/// Adds the views of a split file to those of another.
void appendViews(Scene& scene, const Scene& more, bool isTest)
{
    for (SourceView view : more.views) {
        view.camera = indexOf(scene.cameras, more.cameras[static_cast<std::size_t>(view.camera)]);
        view.isTest = isTest;
        scene.views.push_back(std::move(view));
    }
}

TransformsFile readSplit(const fs::path& folder)
{
    TransformsFile whole = readFileOf(folder / kTrain);
    for (SourceView& view : whole.scene.views)
        view.isTest = false;
    const bool hasTest = fs::exists(folder / kTest),
               hasValidation = fs::exists(folder / kValidation);
    if (hasTest || hasValidation)
        appendViews(whole.scene, readFileOf(folder / (hasTest ? kTest : kValidation)).scene, true);
    if (hasTest && hasValidation)
        whole.scene.findings.push_back(
            {SceneFinding::Severity::Notice, fmt::format("{} is not used: {} holds the test views.",
                                                         (folder / kValidation).string(), kTest)});
    return whole;
}

} // namespace

bool hasTransforms(const fs::path& folder)
{
    return fs::exists(folder / kSingle) || fs::exists(folder / kTrain);
}

TransformsFile parseTransforms(std::string_view text, const fs::path& path,
                               const MeasureImage& measure)
{
    const json file = parseJson(text, path.string());
    const TransformsKeys keys(file, file, path.string());
    if (!file.is_object() || !file.contains("frames") || !file["frames"].is_array())
        keys.fail("there is no list \"frames\"");
    if (file["frames"].empty())
        keys.fail("the list \"frames\" is empty");
    TransformsFile result;
    result.scene.kind = kSingle;
    result.scene.root = path.parent_path();
    for (const json& frame : file["frames"])
        addView(result.scene, frame, file, path, measure);
    markTestViews(result.scene, file);
    result.scene.boxScale = keys.number("aabb_scale");
    if (file.contains("applied_transform"))
        result.scene.appliedTransform =
            matrixOf(file["applied_transform"], keys, "applied_transform");
    result.points = keys.text("ply_file_path").value_or("");
    return result;
}

Scene readTransforms(const fs::path& place)
{
    const bool isFolder = fs::is_directory(place);
    const bool isSplit = isFolder && !fs::exists(place / kSingle);
    TransformsFile file =
        isSplit ? readSplit(place) : readFileOf(isFolder ? place / kSingle : place);
    addPoints(file.scene, file.points);
    finishScene(file.scene);
    return std::move(file.scene);
}

} // namespace vergence::sugar
