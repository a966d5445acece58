#include "plugins/sugar/pipeline/results.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/gif.h"
#include "core/artifact/image.h"
#include "core/base/file.h"
#include "plugins/sugar/io/gaussian_files.h"
#include "plugins/sugar/pipeline/html_report.h"
#include "plugins/sugar/pipeline/settings.h"
#include "plugins/sugar/texture/mesh_picture.h"
#include "plugins/sugar/train/held_out_error.h"
#include "plugins/sugar/view/splat_mode.h"
#include "plugins/sugar/view/view_camera.h"

namespace vergence::sugar {

namespace {

constexpr int kFrameCentiseconds = 5; ///< 20 frames a second
constexpr int kDifferenceGain = 4;
constexpr float kErrorSpan = 0.25F; ///< mean over channels, of 1, that the error map shows as red
constexpr double kMeshNear = 1e-3;  ///< of the extent

Image imageOf(const std::vector<std::uint8_t>& rgba, int width, int height)
{
    Image image = makeImage(width, height, 3);
    for (std::size_t i = 0; i < static_cast<std::size_t>(width) * height; ++i)
        std::copy_n(&rgba[4 * i], 3, &image.pixels[3 * i]);
    return image;
}

Image rendered(Stream& stream, Rasteriser& rasteriser, const SplatSource& shown,
               const Camera& camera)
{
    const RasterImages& images = rasteriser.render(stream, *shown.gaussians, camera, shown.raster);
    return imageOf(pixelsOf(stream, images, camera, SplatMode::Colour), camera.width,
                   camera.height);
}

/// Blue without error, red from kErrorSpan on; black where pixels do not count.
Image errorImage(const std::vector<float>& errors, const Photograph& photograph)
{
    Image image = makeImage(photograph.image.width, photograph.image.height, 3);
    for (std::size_t i = 0; i < errors.size(); ++i) {
        if (!photograph.mask.empty() && photograph.mask[i] == 0)
            continue;
        const auto colour = turbo(errors[i] / kErrorSpan);
        for (std::size_t c = 0; c < 3; ++c)
            image.pixels[3 * i + c] = static_cast<std::uint8_t>(std::lround(255 * colour[c]));
    }
    return image;
}

Image amplifiedDifference(const Image& a, const Image& b)
{
    Image result = makeImage(a.width, a.height, 3);
    for (std::size_t i = 0; i < result.pixels.size(); ++i) {
        const int gap = std::abs(static_cast<int>(a.pixels[i]) - b.pixels[i]);
        result.pixels[i] = static_cast<std::uint8_t>(std::min(255, kDifferenceGain * gap));
    }
    return result;
}

/// Names may contain folders and an ending; results go into one folder per picture.
std::string folderName(const std::string& name)
{
    std::string folder = name.substr(0, name.rfind('.'));
    std::replace(folder.begin(), folder.end(), '/', '_');
    return folder;
}

void moveBack(std::vector<float>& position, const std::array<double, 3>& origin)
{
    for (std::size_t i = 0; i < position.size(); ++i)
        position[i] = static_cast<float>(position[i] + origin[i % 3]);
}

} // namespace

void writeGaussians(RunContext& context, GaussianCloud cloud, const Workspace& workspace,
                    const std::string& folder)
{
    moveBack(cloud.position, workspace.origin);
    for (const std::string& format : workspace.config.formats) {
        const std::string name = folder + "gaussians." + format;
        const auto path = context.artifacts().pathFor(name);
        if (format == "ply")
            writeGaussianPly(path, cloud,
                             {.degree = cloud.degree, .bakeFilter = workspace.config.bakeFilter});
        else if (format == "spz")
            writeSpz(path, cloud);
        else
            writeSplat(path, cloud);
        context.artifacts().add(name, "gaussians", fmt::format("{} Gaussians", cloud.count()));
        if (context.stopRequested()) // one format is quick
            return;
    }
}

void moveBack(TriangleMesh& mesh, const std::array<double, 3>& origin)
{
    moveBack(mesh.position, origin);
}

void writeCameras(RunContext& context, const Workspace& workspace)
{
    const PictureSource& pictures = workspace.pictures->source();
    const auto& origin = workspace.origin;
    if (pictures.count() == 0)
        return;
    nlohmann::json all = nlohmann::json::array();
    for (std::size_t i = 0; i < pictures.count(); ++i) {
        const Camera& camera = pictures.cameras()[i];
        const auto centre = camera.centre();
        nlohmann::json rotation = nlohmann::json::array(); // camera to world, row by row
        for (std::size_t row = 0; row < 3; ++row)
            rotation.push_back(
                {camera.rotation[row], camera.rotation[3 + row], camera.rotation[6 + row]});
        all.push_back(
            {{"id", i},
             {"img_name", pictures.name(i)},
             {"width", camera.width},
             {"height", camera.height},
             {"position", {centre[0] + origin[0], centre[1] + origin[1], centre[2] + origin[2]}},
             {"rotation", rotation},
             {"fx", camera.fx},
             {"fy", camera.fy},
             {"cx", camera.cx},
             {"cy", camera.cy},
             {"held_out", static_cast<bool>(workspace.isTest[i])}});
    }
    context.artifacts().writeText("cameras.json", all.dump(1), "cameras", "Cameras");
}

void writeEvaluations(RunContext& context, const std::vector<EvaluationResult>& evaluations)
{
    if (evaluations.empty())
        return;
    nlohmann::json all = nlohmann::json::array();
    for (const EvaluationResult& evaluation : evaluations)
        all.push_back(toJson(evaluation));
    context.artifacts().writeText("evaluation.json", all.dump(1), "evaluation", "Tests");
    context.artifacts().writeText("evaluation.csv", evaluationCsv(evaluations.back()), "evaluation",
                                  "Last test, worst picture first");
}

namespace {

/// Those that a report shows, of what was written: turntables, and the held-out pictures.
std::vector<ReportPicture> picturesBeside(RunContext& context)
{
    constexpr std::size_t kMostTests = 4;
    const std::filesystem::path folder = context.artifacts().folder().artifacts();
    std::vector<ReportPicture> pictures;
    const auto add = [&](const std::string& name, const std::string& caption) {
        if (std::filesystem::is_regular_file(folder / name))
            pictures.push_back({name, caption});
    };
    add("turntable.gif", "The Gaussians");
    add("mesh_turntable.gif", "The mesh");
    std::vector<std::string> tests;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "test", failure))
        tests.push_back(entry.path().filename().string());
    std::sort(tests.begin(), tests.end());
    tests.resize(std::min(tests.size(), kMostTests));
    for (const std::string& test : tests) {
        add("test/" + test + "/photo.png", test + ": photograph");
        add("test/" + test + "/render.png", test + ": Gaussians");
        add("test/" + test + "/difference.png",
            fmt::format("{}: difference × {}", test, kDifferenceGain));
    }
    return pictures;
}

} // namespace

void writeReport(RunContext& context, const Workspace& workspace, const nlohmann::json& stages)
{
    const PictureSource& pictures = workspace.pictures->source();
    nlohmann::json report{{"stages", stages},
                          {"scene",
                           {{"kind", pictures.scene().kind},
                            {"pictures", pictures.count()},
                            {"points", pictures.scene().points.size()},
                            {"extent", workspace.extent}}},
                          {"changed_settings", context.config().asFlags()},
                          {"gaussians", workspace.gaussians.count()},
                          {"triangles", workspace.mesh.faces()}};
    for (const LeftOutPicture& each : workspace.pictures->leftOut())
        report["scene"]["left_out"].push_back(
            {{"picture", pictures.name(each.picture)}, {"reason", each.reason}});
    if (!workspace.evaluations.empty())
        report["test"] = toJson(workspace.evaluations.back());
    for (const char* name : {"mesh/coarse-quality.json", "mesh/refined-quality.json"}) {
        const auto path = context.artifacts().folder().artifacts() / name;
        if (std::filesystem::is_regular_file(path))
            report["mesh"] = nlohmann::json::parse(readFile(path));
    }
    context.artifacts().writeText("report.json", report.dump(1), "report", "What the run did");
    context.artifacts().writeText("report.html", htmlReport(report, picturesBeside(context)),
                                  "report", "What the run did, for reading");
}

void writeTestPictures(RunContext& context, const Workspace& workspace, const SplatSource& shown)
{
    if (!shown.gaussians)
        return;
    Rasteriser rasteriser(context.device());
    TrainingPictures& pictures = *workspace.pictures;
    for (std::size_t i = 0; i < workspace.isTest.size() && !context.stopRequested(); ++i) {
        if (!workspace.isTest[i])
            continue;
        const auto photo = pictures.photograph(i);
        if (!photo)
            continue;
        const Camera& camera = pictures.source().cameras()[i];
        Stream& stream = context.stream();
        const RasterImages& images =
            rasteriser.render(stream, *shown.gaussians, camera, shown.raster);
        const Image render = imageOf(pixelsOf(stream, images, camera, SplatMode::Colour),
                                     camera.width, camera.height);
        const std::string folder = "test/" + folderName(pictures.source().name(i)) + "/";
        context.artifacts().writePng(folder + "render.png", render, "render");
        context.artifacts().writePng(folder + "photo.png", photo->image, "photograph");
        context.artifacts().writePng(folder + "difference.png",
                                     amplifiedDifference(render, photo->image), "difference",
                                     fmt::format("Difference × {}", kDifferenceGain));
        context.artifacts().writePng(folder + "error.png",
                                     errorImage(errorMap(stream, images.colour, *photo), *photo),
                                     "error", fmt::format("Error, 0 blue to {} red", kErrorSpan));
    }
}

namespace {

/// Cameras of the frames; none where no turntable is wanted or possible.
std::vector<Camera> turntableCameras(const Workspace& workspace)
{
    const SugarConfig& config = workspace.config;
    const PictureSource& pictures = workspace.pictures->source();
    std::vector<Camera> cameras;
    if (config.turntableFrames == 0 || pictures.count() == 0)
        return cameras;
    const SceneFrame scene = sceneFrame(pictures.cameras());
    const Camera& like = pictures.cameras().front();
    const double scale =
        static_cast<double>(config.turntableSize) / std::max(like.width, like.height);
    const int width = std::max(16, static_cast<int>(std::lround(like.width * scale)));
    const int height = std::max(16, static_cast<int>(std::lround(like.height * scale)));
    for (int i = 0; i < config.turntableFrames; ++i)
        cameras.push_back(
            turntableCamera(scene, i, config.turntableFrames, like.fy * scale, width, height));
    return cameras;
}

void writeAnimation(RunContext& context, const std::string& name, const std::vector<Image>& frames,
                    const std::string& title)
{
    const bool isWritten =
        writeGif(context.artifacts().pathFor(name), frames,
                 {.delayCentiseconds = kFrameCentiseconds, .dithers = true, .isStopped = [&] {
                      return context.stopRequested();
                  }});
    if (isWritten)
        context.artifacts().add(name, "animation", title);
}

} // namespace

void writeTurntable(RunContext& context, const Workspace& workspace, const SplatSource& shown)
{
    const std::vector<Camera> cameras = turntableCameras(workspace);
    if (cameras.empty() || !shown.gaussians)
        return;
    Rasteriser rasteriser(context.device());
    std::vector<Image> frames;
    for (const Camera& camera : cameras) {
        if (context.stopRequested())
            return;
        const std::string name = fmt::format("turntable/frame-{:03}.png", frames.size());
        frames.push_back(rendered(context.stream(), rasteriser, shown, camera));
        context.artifacts().writePng(name, frames.back(), "turntable");
    }
    writeAnimation(context, "turntable.gif", frames, "Turntable");
}

void writeMeshTurntable(RunContext& context, const Workspace& workspace)
{
    const bool isPainted = workspace.textured.mesh.faces() > 0;
    const std::vector<Camera> cameras = turntableCameras(workspace);
    if (cameras.empty() || (!isPainted && workspace.mesh.faces() == 0))
        return;
    TexturedMesh unpainted;
    if (!isPainted)
        unpainted.mesh = workspace.mesh;
    const TexturedMesh& mesh = isPainted ? workspace.textured : unpainted;
    std::array<std::uint8_t, 3> background{};
    const std::array<float, 3> colour = backgroundOf(workspace.config);
    std::transform(colour.begin(), colour.end(), background.begin(), [](float value) {
        return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0F, 1.0F)));
    });
    std::vector<Image> frames;
    for (const Camera& camera : cameras) {
        if (context.stopRequested())
            return;
        frames.push_back(
            onBackground(meshPicture(mesh, camera, kMeshNear * workspace.extent), background));
    }
    writeAnimation(context, "mesh_turntable.gif", frames, "Turntable of the mesh");
}

} // namespace vergence::sugar
