#include "plugins/sugar/view/splat_viewer.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/artifact/image_ops.h"
#include "core/base/clock.h"
#include "plugins/sugar/texture/mesh_picture.h"
#include "plugins/sugar/train/held_out_error.h"

namespace vergence::sugar {

namespace {

constexpr Rgb kTraining{70, 130, 255}, kTest{255, 150, 40};
constexpr double kFrustumSize = 0.05; ///< of the extent
constexpr double kPickReach = 14;     ///< px
constexpr double kMovingSeconds = 0.035, kTrainingSeconds = 0.12, kStillSeconds = 1.5;
constexpr int kThumbnail = 64;          ///< longer side, px
constexpr int kLargest = 4096;          ///< px
constexpr double kMeshNear = 1e-3;      ///< of the extent
constexpr std::uint8_t kNoPicture = 40; ///< grey instead of a photograph that cannot be read

std::set<std::string> namesIn(const std::string& list)
{
    std::set<std::string> names;
    std::istringstream stream(list);
    for (std::string name; std::getline(stream, name, ',');)
        names.insert(name);
    return names;
}

template <class T>
bool assign(T& target, T value)
{
    const bool changed = !(target == value);
    target = std::move(value);
    return changed;
}

const std::vector<double>* listOf(const ViewInput& input, const char* id, std::size_t least)
{
    const auto found = input.values.find(id);
    return found != input.values.end() && found->second.size() >= least ? &found->second : nullptr;
}

void publishPixels(RunContext& context, const std::string& stream, int width, int height,
                   const std::vector<std::uint8_t>& pixels, std::string meta)
{
    FrameInfo info;
    info.stream = stream;
    info.step = context.step();
    info.width = static_cast<std::uint32_t>(width);
    info.height = static_cast<std::uint32_t>(height);
    info.meta = std::move(meta);
    context.frames().publish(std::move(info), std::as_bytes(std::span(pixels)));
}

std::vector<std::uint8_t> withAlpha(const Image& image)
{
    const auto count = static_cast<std::size_t>(image.width) * image.height;
    std::vector<std::uint8_t> pixels(4 * count, 255);
    for (std::size_t i = 0; i < count; ++i)
        std::copy_n(&image.pixels[3 * i], 3, &pixels[4 * i]);
    return pixels;
}

/// Mean over channels of |render − photograph|, both 8 bits.
std::vector<float> differenceOf(const std::vector<std::uint8_t>& render, const Image& photo)
{
    const auto count = static_cast<std::size_t>(photo.width) * photo.height;
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        int sum = 0;
        for (std::size_t c = 0; c < 3; ++c)
            sum += std::abs(static_cast<int>(render[4 * i + c]) - photo.pixels[3 * i + c]);
        values[i] = static_cast<float>(sum) / (3 * 255.0F);
    }
    return values;
}

} // namespace

std::vector<StreamDecl> SplatViewer::streams()
{
    return {
        {"splats", "Splats", StreamKind::Splats, "The Gaussians from a camera of your own.", ""},
        {"render", "Render", StreamKind::Image, "The chosen view as the Gaussians show it.",
         "view"},
        {"photo", "Photograph", StreamKind::Image, "The photograph of the chosen view.", "view"},
        {"mesh_view", "Mesh", StreamKind::Image, "The chosen view as the mesh shows it.", "view"},
        {"difference", "Difference", StreamKind::HeatMap,
         "Amount of render minus photograph, mean over channels.", "view"}};
}

void SplatViewer::reset(const SplatSource& source)
{
    m_extent = source.extent;
    if (!source.pictures || source.pictures->source().count() == 0)
        return;
    const auto& cameras = source.pictures->source().cameras();
    m_frame = sceneFrame(cameras);
    m_camera = viewToWorld(cameras.front());
    m_focal = cameras.front().fy / cameras.front().height;
    ++m_jump;
}

void SplatViewer::declare(RunContext& context, const SplatSource& source)
{
    m_extent = source.extent;
    m_degree = source.gaussians ? source.gaussians->value.degree() : 3;
    const bool hasPictures = source.pictures && source.pictures->source().count() > 0;
    if (m_camera.empty() && hasPictures) {
        reset(source);
    } else if (m_camera.empty() && source.gaussians) {
        const Camera camera = lookingAt({0, -3 * m_extent, 0}, {0, 0, 0}, {0, 0, 1}, 1, 1, 1);
        m_frame.radius = 3 * m_extent;
        m_camera = viewToWorld(camera);
        ++m_jump;
    }
    declareControls(context, source);
}

void SplatViewer::declareControls(RunContext& context, const SplatSource& source) const
{
    std::vector<ViewControl> controls;
    controls.push_back({.id = "mode",
                        .title = "Show",
                        .help = "What the picture shows.",
                        .kind = ViewControl::Kind::Choice,
                        .value = {static_cast<double>(m_display.mode)},
                        .labels = splatModeTitles()});
    const auto count = source.pictures ? source.pictures->source().count() : 0;
    if (count > 1) {
        ViewControl view{.id = "view",
                         .title = "View",
                         .help = "Number of the photograph to compare with; clicking a frustum "
                                 "chooses it too.",
                         .kind = ViewControl::Kind::Slider,
                         .minimum = {1},
                         .maximum = {static_cast<double>(count)},
                         .value = {static_cast<double>(m_view.value_or(0) + 1)}};
        for (std::size_t i = 0; source.isTest && i < count; ++i) {
            if ((*source.isTest)[i])
                view.marks.push_back({{static_cast<double>(i + 1)}, "held out"});
        }
        controls.push_back(std::move(view));
        controls.push_back({.id = "cameras",
                            .title = "Cameras",
                            .help = "Frusta of the photographs: blue learnt from, orange held out.",
                            .kind = ViewControl::Kind::Toggles,
                            .value = {m_showsFrusta ? 1.0 : 0.0, m_showsPhotographs ? 1.0 : 0.0},
                            .labels = {"frusta", "photographs"}});
    }
    controls.push_back({.id = "sh_degree",
                        .title = "Harmonics",
                        .help = "Degree of the harmonics that are shown.",
                        .kind = ViewControl::Kind::Slider,
                        .minimum = {0},
                        .maximum = {3},
                        .value = {static_cast<double>(m_degree)}});
    controls.push_back({.id = "opacity_cut",
                        .title = "Hide below",
                        .help = "Gaussians of less opacity are hidden.",
                        .kind = ViewControl::Kind::Slider,
                        .minimum = {0},
                        .maximum = {1},
                        .value = {m_display.opacityCut}});
    controls.push_back({.id = "splat_scale",
                        .title = "Splat size",
                        .help = "Factor on the size of all Gaussians.",
                        .kind = ViewControl::Kind::Slider,
                        .minimum = {0},
                        .maximum = {2},
                        .value = {m_display.splatScale}});
    if (source.mesh)
        controls.push_back({.id = "mesh_share",
                            .title = "Mesh",
                            .help = "How much of the mesh is seen through the splats.",
                            .kind = ViewControl::Kind::Slider,
                            .minimum = {0},
                            .maximum = {1},
                            .value = {m_meshShare}});
    controls.insert(controls.end(), source.further.begin(), source.further.end());
    context.declareControls(controls);
}

bool SplatViewer::applyCamera(const ViewInput& input)
{
    bool changed = false;
    if (const auto* camera = listOf(input, "camera", 16))
        changed |= assign(m_camera, std::vector<double>(camera->begin(), camera->begin() + 16));
    if (const auto focal = input.scalar("focal"); focal && *focal > 0.05 && *focal < 50)
        changed |= assign(m_focal, *focal);
    if (const auto* size = listOf(input, "viewport", 2)) {
        changed |= assign(m_width, std::clamp(static_cast<int>((*size)[0]), 16, kLargest));
        changed |= assign(m_height, std::clamp(static_cast<int>((*size)[1]), 16, kLargest));
    }
    if (const auto moving = input.scalar("moving"))
        changed |= assign(m_isMoving, *moving != 0);
    return changed;
}

bool SplatViewer::applyPick(const ViewInput& input, const SplatSource& source)
{
    const auto* pick = listOf(input, "pick", 2);
    const auto stream = input.texts.find("pick_stream");
    if (!pick || stream == input.texts.end() || stream->second != "splats" || !m_showsFrusta)
        return false;
    const auto number = pick->size() > 3 ? static_cast<std::int64_t>((*pick)[3]) : m_pick + 1;
    if (number == m_pick)
        return false;
    m_pick = number;
    const Camera viewer = cameraForSize(m_shownWidth, m_shownHeight);
    const auto found = frustumAt(viewer, frusta(source), kFrustumSize * m_extent, (*pick)[0],
                                 (*pick)[1], kPickReach);
    if (!found)
        return false;
    lookThrough(*found, source);
    return true;
}

/// Takes over a place to focus on, once: later inputs carry the same number.
bool SplatViewer::applyFocus(const ViewInput& input)
{
    const auto* focus = listOf(input, "focus", 3);
    if (!focus || static_cast<std::int64_t>((*focus)[2]) == m_focusNumber)
        return false;
    m_focusNumber = static_cast<std::int64_t>((*focus)[2]);
    m_focusAt = {(*focus)[0] / m_shownWidth, (*focus)[1] / m_shownHeight};
    return true;
}

/// Flies to a view: the free camera takes its place.
void SplatViewer::lookThrough(std::size_t view, const SplatSource& source)
{
    m_view = view;
    const Camera& camera = source.pictures->source().cameras().at(view);
    m_camera = viewToWorld(camera);
    m_focal = camera.fy / camera.height;
    ++m_jump;
}

bool SplatViewer::apply(const ViewInput& input, const SplatSource& source)
{
    bool changed = applyCamera(input);
    if (const auto mode = input.scalar("mode"))
        changed |= assign(m_display.mode, static_cast<SplatMode>(std::clamp(
                                              static_cast<int>(*mode), 0,
                                              static_cast<int>(splatModeTitles().size()) - 1)));
    if (const auto cut = input.scalar("opacity_cut"))
        changed |= assign(m_display.opacityCut, std::clamp(*cut, 0.0, 1.0));
    if (const auto scale = input.scalar("splat_scale"))
        changed |= assign(m_display.splatScale, std::clamp(*scale, 0.01, 10.0));
    if (const auto share = input.scalar("mesh_share"))
        changed |= assign(m_meshShare, std::clamp(*share, 0.0, 1.0));
    if (const auto degree = input.scalar("sh_degree"))
        changed |= assign(m_degree, std::clamp(static_cast<int>(std::lround(*degree)), 0, 3));
    if (const auto* toggles = listOf(input, "cameras", 2)) {
        changed |= assign(m_showsFrusta, (*toggles)[0] != 0);
        changed |= assign(m_showsPhotographs, (*toggles)[1] != 0);
    }
    if (const auto visible = input.texts.find("visible"); visible != input.texts.end())
        changed |= assign(m_visible, namesIn(visible->second));
    const auto count = source.pictures ? source.pictures->source().count() : 0;
    if (const auto view = input.scalar("view"); view && count > 0) {
        const auto index = static_cast<std::size_t>(
            std::clamp(std::llround(*view) - 1, 0LL, static_cast<long long>(count) - 1));
        if (m_view != index && (m_view || index != 0)) {
            lookThrough(index, source);
            changed = true;
        }
    }
    if (count > 0)
        changed |= applyPick(input, source);
    changed |= applyFocus(input);
    if (const auto fit = input.scalar("fit"); fit && static_cast<std::int64_t>(*fit) != m_fit) {
        m_fit = static_cast<std::int64_t>(*fit);
        reset(source);
        changed = true;
    }
    return changed;
}

Camera SplatViewer::cameraForSize(int width, int height) const
{
    return cameraFrom(m_camera, m_focal * height, width, height);
}

/// The canvas, or less where a picture of that size would take too long.
std::pair<int, int> SplatViewer::pictureSize(bool isTraining) const
{
    const double limit = m_isMoving   ? kMovingSeconds
                         : isTraining ? kTrainingSeconds
                                      : kStillSeconds;
    const double pixels = static_cast<double>(m_width) * m_height;
    // Before the first picture half a megapixel a second is assumed.
    const double perPixel = m_secondsPerPixel > 0 ? m_secondsPerPixel : 2e-6;
    const double share = std::sqrt(std::clamp(limit / (perPixel * pixels), 0.01, 1.0));
    return {std::max(16, static_cast<int>(m_width * share)),
            std::max(16, static_cast<int>(m_height * share))};
}

std::vector<Frustum> SplatViewer::frusta(const SplatSource& source)
{
    std::vector<Frustum> all;
    if (!source.pictures)
        return all;
    const auto& cameras = source.pictures->source().cameras();
    for (std::size_t i = 0; i < cameras.size(); ++i) {
        Frustum frustum;
        frustum.camera = cameras[i];
        frustum.colour = source.isTest && (*source.isTest)[i] ? kTest : kTraining;
        frustum.isActive = m_view == i;
        if (m_showsPhotographs && i < m_thumbnails.size()) {
            frustum.thumbnail = m_thumbnails[i];
            frustum.thumbnailWidth = m_thumbnailWidth;
            frustum.thumbnailHeight = m_thumbnailHeight;
        }
        all.push_back(frustum);
    }
    return all;
}

const Gaussians& SplatViewer::shown(RunContext& context, const SplatSource& source)
{
    if (m_display.isPlain())
        return *source.gaussians;
    if (m_copyStep != source.step || !(m_copyFor == m_display) || m_copy.count == 0) {
        DisplayValues values{source.statistics, {}};
        if (m_display.mode == SplatMode::TestError && source.pictures && source.isTest)
            values.testError = heldOutErrors(context.stream(), *source.gaussians, source.raster,
                                             *source.pictures, *source.isTest);
        m_copy = displayed(context.stream(), *source.gaussians, values, m_display, m_extent,
                           &m_copySpan);
        m_copyStep = source.step;
        m_copyFor = m_display;
    }
    return m_copy;
}

/// Turns the target to what lies under the pixel that was asked for.
void SplatViewer::focus(RunContext& context, const SplatSource& source)
{
    constexpr int kSide = 160;
    const std::array<double, 2> at = *m_focusAt;
    m_focusAt.reset();
    const int height = std::max(1, kSide * m_shownHeight / std::max(1, m_shownWidth));
    const Camera camera = cameraForSize(kSide, height);
    RasterSettings settings = source.raster;
    settings.geometry = true;
    const RasterImages& images =
        m_rasteriser->render(context.stream(), *source.gaussians, camera, settings);
    const int x = std::clamp(static_cast<int>(at[0] * kSide), 0, kSide - 1);
    const int y = std::clamp(static_cast<int>(at[1] * height), 0, height - 1);
    const auto pixel = static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(x);
    const float coverage = 1 - images.transmittance.toHost<float>(context.stream())[pixel];
    if (coverage < 0.3F)
        return;
    const double depth = images.depth.toHost<float>(context.stream())[pixel] / coverage;
    const std::array<double, 3> t{depth * (x + 0.5 - camera.cx) / camera.fx,
                                  depth * (y + 0.5 - camera.cy) / camera.fy, depth};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        m_frame.target[axis] = m_camera[12 + axis];
        for (std::size_t column = 0; column < 3; ++column)
            m_frame.target[axis] += m_camera[4 * column + axis] * t[column];
    }
    ++m_jump;
}

std::string SplatViewer::splatsMeta(const ColourSpan& span, bool isPreview) const
{
    return nlohmann::json{{"camera", m_camera},     {"focal", {m_focal, m_focal}},
                          {"up", m_frame.up},       {"target", m_frame.target},
                          {"extent", m_extent},     {"jump", m_jump},
                          {"isPreview", isPreview}, {"span", {span.low, span.high}},
                          {"encoding", "srgb"}}
        .dump();
}

void SplatViewer::publishSplats(RunContext& context, const SplatSource& source)
{
    if (m_focusAt)
        focus(context, source);
    const auto [width, height] = pictureSize(source.isTraining);
    const Camera camera = cameraForSize(width, height);
    RasterSettings settings = source.raster;
    settings.geometry = needsGeometry(m_display.mode);
    settings.shDegree = isPerGaussian(m_display.mode) ? 0 : std::min(m_degree, settings.shDegree);
    const Gaussians& gaussians = shown(context, source);
    const double start = steadySeconds();
    RasterImages images = m_rasteriser->render(context.stream(), gaussians, camera, settings);
    if (const auto depth = ownDepth(m_display.mode))
        images.depth = m_rasteriser->depthPicture(context.stream(), *depth);
    ColourSpan span = m_copySpan;
    std::vector<std::uint8_t> pixels = pixelsOf(context.stream(), images, camera, m_display.mode,
                                                isPerGaussian(m_display.mode) ? nullptr : &span);
    mixMesh(pixels, camera, source);
    m_secondsPerPixel = (steadySeconds() - start) / (static_cast<double>(width) * height);
    if (m_showsFrusta)
        drawFrusta({pixels, width, height}, camera, frusta(source), kFrustumSize * m_extent);
    m_shownWidth = width;
    m_shownHeight = height;
    publishPixels(context, "splats", width, height, pixels,
                  splatsMeta(span, width < m_width || height < m_height));
}

/// Lets the mesh show through the splats, as much as was asked for.
void SplatViewer::mixMesh(std::vector<std::uint8_t>& pixels, const Camera& camera,
                          const SplatSource& source) const
{
    if (!source.mesh || m_meshShare <= 0)
        return;
    const Image mesh = meshPicture(*source.mesh, camera, kMeshNear * m_extent, m_isMoving ? 1 : 2);
    for (std::size_t i = 0; i < pixels.size(); i += 4) {
        const double share = m_meshShare * mesh.pixels[i + 3] / 255;
        for (std::size_t k = 0; k < 3; ++k)
            pixels[i + k] = static_cast<std::uint8_t>(
                std::lround((1 - share) * pixels[i + k] + share * mesh.pixels[i + k]));
    }
}

void SplatViewer::publishView(RunContext& context, const SplatSource& source)
{
    const std::size_t view = m_view.value_or(0);
    const PictureSource& pictures = source.pictures->source();
    const auto photograph = source.pictures->photograph(view);
    const Camera& camera = pictures.cameras()[view];
    const int width = camera.width, height = camera.height;
    const RasterImages& images =
        m_rasteriser->render(context.stream(), *source.gaussians, camera, source.raster);
    const std::vector<std::uint8_t> render =
        pixelsOf(context.stream(), images, camera, SplatMode::Colour);
    const std::string label = pictures.name(view) + (photograph ? "" : " cannot be read");
    const std::string meta = nlohmann::json{{"label", label}, {"encoding", "srgb"}}.dump();
    const Image photo = photograph ? photograph->image : makeImage(width, height, 3, kNoPicture);
    publishPixels(context, "render", width, height, render, meta);
    publishPixels(context, "photo", width, height, withAlpha(photo), meta);
    if (source.mesh && wants("mesh_view"))
        publishPixels(
            context, "mesh_view", width, height,
            withAlpha(onBackground(meshPicture(*source.mesh, camera, kMeshNear * m_extent), {})),
            meta);
    const std::vector<float> difference =
        photograph ? differenceOf(render, photo) : std::vector<float>(render.size() / 4, 0.0F);
    FrameInfo info;
    info.stream = "difference";
    info.step = context.step();
    info.format = PixelFormat::R32F;
    info.width = static_cast<std::uint32_t>(width);
    info.height = static_cast<std::uint32_t>(height);
    info.meta = meta;
    context.frames().publish(std::move(info), std::as_bytes(std::span(difference)));
}

void SplatViewer::publish(RunContext& context, const SplatSource& source)
{
    if (!source.gaussians || source.gaussians->count == 0 || m_camera.empty())
        return;
    if (!m_rasteriser)
        m_rasteriser = std::make_unique<Rasteriser>(source.gaussians->device());
    if (m_showsPhotographs && m_thumbnails.empty() && source.pictures)
        makeThumbnails(source);
    if (wants("splats"))
        publishSplats(context, source);
    const bool showsView =
        wants("render") || wants("photo") || wants("mesh_view") || wants("difference");
    if (showsView && source.pictures && source.pictures->source().count() > 0)
        publishView(context, source);
}

/// Small copies of all photographs, of one size.
void SplatViewer::makeThumbnails(const SplatSource& source)
{
    const auto count = source.pictures->source().count();
    for (std::size_t i = 0; i < count; ++i) {
        const auto photograph = source.pictures->photograph(i);
        const Image full =
            photograph ? photograph->image : makeImage(kThumbnail, kThumbnail, 3, kNoPicture);
        const Image small =
            scaled(full, static_cast<double>(kThumbnail) / std::max(full.width, full.height));
        if (i == 0) {
            m_thumbnailWidth = small.width;
            m_thumbnailHeight = small.height;
        }
        m_thumbnails.push_back(centredOn(small, m_thumbnailWidth, m_thumbnailHeight).pixels);
    }
}

} // namespace vergence::sugar
