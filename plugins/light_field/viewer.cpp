#include "plugins/light_field/viewer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/run/publish.h"
#include "plugins/light_field/pictures.h"
#include "plugins/light_field/recorder.h"

namespace vergence::light_field {

namespace {

enum PlaneMode { kModeSrgb, kModeLinear, kModeGain, kModeWeight };

constexpr double kReach = 3.0; // mm, half side of the eye pad

std::string eyeCaption(const EyeState& eye, bool isSeed)
{
    return isSeed ? "seed profile: one ray per pixel, no focus"
                  : fmt::format("{:.2f} D, eye at ({:+.2f}, {:+.2f}) mm", eye.accommodation, eye.x,
                                eye.y);
}

/// Floats as an R32F frame.
void publishFloats(RunContext& context, const std::string& stream, const std::vector<float>& values,
                   int width, int height, int layers, const nlohmann::json& meta)
{
    FrameInfo info;
    info.stream = stream;
    info.step = context.step();
    info.format = PixelFormat::R32F;
    info.width = static_cast<std::uint32_t>(width);
    info.height = static_cast<std::uint32_t>(height);
    info.layers = static_cast<std::uint32_t>(layers);
    info.meta = meta.dump();
    context.frames().publish(std::move(info), std::as_bytes(std::span(values)));
}

/// 8-bit images of one size as layers of a stack.
void publishStack(RunContext& context, const std::string& stream, const std::vector<Image>& images,
                  const nlohmann::json& meta)
{
    FrameInfo info;
    info.stream = stream;
    info.step = context.step();
    info.width = static_cast<std::uint32_t>(images.front().width);
    info.height = static_cast<std::uint32_t>(images.front().height);
    info.layers = static_cast<std::uint32_t>(images.size());
    info.meta = meta.dump();
    std::vector<std::byte> pixels(info.pixelBytes());
    auto* out = reinterpret_cast<std::uint8_t*>(pixels.data());
    for (const Image& image : images) {
        const auto count = static_cast<std::size_t>(image.width) * image.height;
        for (std::size_t i = 0; i < count; ++i, out += 4) {
            for (int c = 0; c < 3; ++c)
                out[c] = image.pixels[i * image.channels + (image.channels >= 3 ? c : 0)];
            out[3] = 255;
        }
    }
    context.frames().publish(std::move(info), pixels);
}

/// Labels, and where the planes are seen: dioptres and angles, as the stack views understand them.
nlohmann::json stackMeta(const Optics& optics)
{
    nlohmann::json meta{{"encoding", "srgb"}};
    for (int k = 0; k < optics.planes(); ++k)
        meta["labels"].push_back(fmt::format("{}: {}", k, planeLabel(optics, k)));
    if (!centralDepthPlane(optics))
        return meta;
    for (int k = 0; k < optics.planes(); ++k) {
        const PlaneGeometry plane = planeGeometry(optics, k);
        meta["depth"].push_back(plane.usable ? plane.vergence : 0);
        meta["width"].push_back(2 * std::atan(plane.slopeExtent) * 180 / std::numbers::pi);
    }
    meta["depth_title"] = "vergence (D)";
    meta["width_title"] = "seen width (°)";
    return meta;
}

} // namespace

std::vector<StreamDecl> Viewer::streams()
{
    return {
        {"eye_view", "Eye view", StreamKind::Image, "What the eye sees through the display.",
         "eye"},
        {"target", "Target", StreamKind::Image, "What the eye should see.", "eye"},
        {"error", "Error", StreamKind::HeatMap, "Eye view minus target, mean over channels.",
         "eye"},
        {"planes", "Planes", StreamKind::ImageStack, "The panel images, one per focal length.", ""},
        {"contributions", "Contributions", StreamKind::ImageStack,
         "The eye view of every plane alone.", ""},
        {"optics", "Optics", StreamKind::Diagram,
         "Side view of the display with the rays of the pixel under the pointer.", ""}};
}

void Viewer::declare(RunContext& context, const ViewSource& source,
                     const std::vector<std::string>& itemLabels)
{
    std::vector<ViewControl> controls;
    const Geometry& geometry = *source.geometry;
    if (!source.item->config.isSeedProfile()) {
        ViewControl focus{.id = "accommodation",
                          .title = "Accommodation",
                          .unit = "D",
                          .help = "Distance the eye focuses on.",
                          .kind = ViewControl::Kind::Slider,
                          .minimum = {0},
                          .maximum = {15}};
        ViewControl eye{.id = "eye",
                        .title = "Eye position",
                        .unit = "mm",
                        .help = "Sideways shift of the eye.",
                        .kind = ViewControl::Kind::Pad,
                        .minimum = {-kReach, -kReach},
                        .maximum = {kReach, kReach}};
        double nearest = 0;
        for (const auto& [states, label] : {std::pair(&geometry.training, "training"),
                                            std::pair(&geometry.heldOut, "held out")}) {
            for (const EyeState& state : *states) {
                nearest = std::max(nearest, state.accommodation);
                focus.marks.push_back({{state.accommodation}, label});
                eye.marks.push_back({{state.x, state.y}, label});
            }
        }
        focus.maximum = {std::min(15.0, std::ceil(nearest + 2))};
        const EyeState eyeState = eyeFor(source);
        focus.value = {eyeState.accommodation};
        eye.value = {eyeState.x, eyeState.y};
        controls.push_back(std::move(focus));
        controls.push_back(std::move(eye));
    }
    ViewControl planes{.id = "planes_on",
                       .title = "Planes",
                       .help = "Planes that take part in the eye view.",
                       .kind = ViewControl::Kind::Toggles};
    for (int k = 0; k < geometry.optics.planes(); ++k) {
        planes.labels.push_back(fmt::format("{}", k)); // as planes and files are numbered
        const auto index = static_cast<std::size_t>(k);
        planes.value.push_back(index >= m_planesOn.size() || m_planesOn[index] ? 1 : 0);
    }
    controls.push_back(std::move(planes));
    controls.push_back({.id = "plane_mode",
                        .title = "Show planes",
                        .kind = ViewControl::Kind::Choice,
                        .value = {static_cast<double>(m_planeMode)},
                        .labels = {"sRGB", "linear", "×4", "weight seen"}});
    if (itemLabels.size() > 1) {
        ViewControl items{.id = "item",
                          .title = "Look at",
                          .help = "A finished item, or whatever is being solved.",
                          .kind = ViewControl::Kind::Choice,
                          .value = {0},
                          .labels = {"current"}};
        items.labels.insert(items.labels.end(), itemLabels.begin(), itemLabels.end());
        if (m_chosenItem)
            items.value = {static_cast<double>(*m_chosenItem + 1)};
        controls.push_back(std::move(items));
    }
    context.declareControls(controls);
}

namespace {

/// Assigns and says whether that changed anything.
template <class T>
bool assign(T& target, T value)
{
    const bool changed = !(target == value);
    target = std::move(value);
    return changed;
}

std::set<std::string> namesIn(const std::string& list)
{
    std::set<std::string> names;
    std::istringstream stream(list);
    for (std::string name; std::getline(stream, name, ',');)
        names.insert(name);
    return names;
}

} // namespace

bool Viewer::apply(const ViewInput& input)
{
    const auto list = [&](const char* id, std::size_t least) -> const std::vector<double>* {
        const auto found = input.values.find(id);
        return found != input.values.end() && found->second.size() >= least ? &found->second
                                                                            : nullptr;
    };
    if (const auto value = input.scalar("accommodation"))
        m_moved.eye |= assign(m_accommodation, std::optional(std::clamp(*value, 0.0, 15.0)));
    if (const auto* eye = list("eye", 2)) {
        m_moved.eye |= assign(m_eyeX, std::clamp((*eye)[0], -kReach, kReach));
        m_moved.eye |= assign(m_eyeY, std::clamp((*eye)[1], -kReach, kReach));
    }
    if (const auto* on = list("planes_on", 1)) {
        std::vector<bool> planesOn;
        for (const double value : *on)
            planesOn.push_back(value != 0);
        m_moved.planesOn |= assign(m_planesOn, std::move(planesOn));
    }
    if (const auto value = input.scalar("plane_mode"))
        m_moved.planeMode |= assign(m_planeMode, static_cast<int>(*value));
    const auto stream = input.texts.find("pointer_stream");
    const bool overEye =
        stream != input.texts.end() &&
        (stream->second == "eye_view" || stream->second == "target" || stream->second == "error");
    if (const auto* pointer = list("pointer", 2); pointer && overEye)
        m_moved.pixel |=
            assign(m_pixel, std::optional(PixelPosition{(*pointer)[1], (*pointer)[0]}));
    if (const auto visible = input.texts.find("visible"); visible != input.texts.end())
        m_moved.visible |= assign(m_visible, namesIn(visible->second));
    bool choosesItem = false;
    if (const auto value = input.scalar("item"))
        choosesItem = assign(m_chosenItem, *value >= 1 ? std::optional(static_cast<int>(*value) - 1)
                                                       : std::nullopt);
    return choosesItem;
}

EyeState Viewer::eyeFor(const ViewSource& source) const
{
    const auto& states = source.geometry->training;
    const EyeState& nominal = states[static_cast<std::size_t>(nominalState(states))];
    return {m_eyeX, m_eyeY, m_accommodation.value_or(nominal.accommodation)};
}

bool Viewer::showsNominalState(const ViewSource& source) const
{
    const auto& states = source.geometry->training;
    return source.item->config.isSeedProfile() ||
           eyeFor(source) == states[static_cast<std::size_t>(nominalState(states))];
}

bool Viewer::showsAllPlanes() const
{
    return std::find(m_planesOn.begin(), m_planesOn.end(), false) == m_planesOn.end();
}

EyeRenderer& Viewer::rendererFor(RunContext& context, const ViewSource& source)
{
    if (!m_renderer || m_rendererGeometry != source.geometry) {
        m_renderer = std::make_unique<EyeRenderer>(context.stream(), context.device(),
                                                   source.geometry->optics,
                                                   source.item->config.raysPerPixel);
        m_rendererGeometry = source.geometry;
    }
    return *m_renderer;
}

Tensor Viewer::enabledPlanes(Stream& stream, const ViewSource& source) const
{
    if (showsAllPlanes())
        return source.planes;
    Tensor planes = source.planes.clone(stream);
    for (Index k = 0; k < planes.extent(0); ++k) {
        if (static_cast<std::size_t>(k) < m_planesOn.size() &&
            !m_planesOn[static_cast<std::size_t>(k)]) {
            const Tensor plane = planes.slice(k);
            stream.fillBytes(plane.data(), 0, plane.bytes());
        }
    }
    return planes;
}

/// What the eye sees: the last residual pass where it shows this very state, else rendered. [W, W,
/// L].
Tensor Viewer::seenView(RunContext& context, const ViewSource& source)
{
    const bool isSeed = source.item->config.isSeedProfile();
    if (!source.views.isEmpty() && showsNominalState(source) && (showsAllPlanes() || isSeed))
        return source.views.slice(nominalState(source.geometry->training));
    if (isSeed)
        return seedView(context.stream(), source);
    return rendererFor(context, source)
        .render(context.stream(), enabledPlanes(context.stream(), source), eyeFor(source));
}

/// The eye view and, where somebody looks at them, the target of the same eye and their difference.
void Viewer::publishEye(RunContext& context, const ViewSource& source)
{
    Stream& stream = context.stream();
    const SweepItem& item = *source.item;
    const int side = source.geometry->optics.renderResolution, channels = item.channels;
    const EyeState eye = eyeFor(source);
    const std::string meta =
        nlohmann::json{
            {"encoding", "srgb"},
            {"subject", item.label},
            {"caption", item.label + ", " + eyeCaption(eye, item.config.isSeedProfile())}}
            .dump();

    const Tensor view = seenView(context, source);
    const bool comparesWithTarget = wants("target") || wants("error");
    const bool shared = m_deviceFrames.publish(context, "eye_view", view, channels, meta);
    if (shared && !comparesWithTarget)
        return;
    const std::vector<float> seen = interleaved(stream, view, 0, channels);
    if (!shared)
        context.frames().publishLinear("eye_view", seen, side, side, channels, context.step(),
                                       meta);
    if (!comparesWithTarget)
        return;

    const Tensor truth =
        showsNominalState(source)
            ? source.targets->training.radiance.slice(nominalState(source.geometry->training))
            : previewTarget(stream, context.device(), source.geometry->optics, eye,
                            item.config.raysPerPixel, {item.scene, channels});
    const std::vector<float> target = interleaved(stream, truth, 0, channels);
    if (!m_deviceFrames.publish(context, "target", truth, channels, meta))
        context.frames().publishLinear("target", target, side, side, channels, context.step(),
                                       meta);
    std::vector<float> error(static_cast<std::size_t>(side) * side);
    for (std::size_t i = 0; i < error.size(); ++i) {
        for (int c = 0; c < channels; ++c)
            error[i] +=
                (seen[i * channels + c] - target[i * channels + c]) / static_cast<float>(channels);
    }
    publishFloats(context, "error", error, side, side, 1,
                  {{"map", "signed"}, {"scale", 0.25}, {"caption", item.label}});
}

Tensor Viewer::seedView(Stream& stream, const ViewSource& source) const
{
    const LinearOperator& op = *source.geometry->solving;
    const Tensor planes = enabledPlanes(stream, source);
    const int side = op.resolution();
    Tensor images = Tensor::empty(planes.device(), {1, side, side, planes.extent(3)});
    op.forward(stream, op.gatherPlanes(stream, planes), images);
    return images.slice(0);
}

void Viewer::publishPlanes(RunContext& context, const ViewSource& source)
{
    Stream& stream = context.stream();
    nlohmann::json meta = stackMeta(source.geometry->optics);
    if (m_planeMode == kModeWeight && source.weight) {
        const Tensor weight = source.weight();
        const auto values = weight.toHost<float>(stream);
        const int side = static_cast<int>(weight.extent(1));
        meta["map"] = "magnitude";
        meta["scale"] = values.empty()
                            ? 1.0f
                            : std::max(1e-6f, *std::max_element(values.begin(), values.end()));
        publishFloats(context, "planes", values, side, side, static_cast<int>(weight.extent(0)),
                      meta);
        return;
    }
    const Tensor& planes = source.planes;
    const int channels = source.item->channels;
    const std::vector<float> values = interleaved(
        stream,
        planes.reshaped({planes.extent(0) * planes.extent(1), planes.extent(2), planes.extent(3)}),
        0, channels);
    std::vector<Image> images =
        planeImages(values, static_cast<int>(planes.extent(1)), channels, m_planeMode != kModeSrgb);
    if (m_planeMode == kModeGain) {
        for (Image& image : images) {
            for (std::uint8_t& value : image.pixels)
                value = static_cast<std::uint8_t>(std::min(255, 4 * value));
        }
    }
    publishStack(context, "planes", images, meta);
}

void Viewer::publishContributions(RunContext& context, const ViewSource& source)
{
    if (source.item->config.isSeedProfile())
        return;
    Stream& stream = context.stream();
    const int side = source.geometry->optics.renderResolution, channels = source.item->channels;
    const Tensor parts =
        rendererFor(context, source).contributions(stream, source.planes, eyeFor(source));
    std::vector<Image> images;
    std::vector<double> energy;
    double total = 0;
    for (Index k = 0; k < parts.extent(0); ++k) {
        const std::vector<float> linear = interleaved(stream, parts, static_cast<int>(k), channels);
        double sum = 0;
        for (const float value : linear)
            sum += value;
        energy.push_back(sum);
        total += sum;
        images.push_back(imageFromLinear(linear, side, side, channels));
    }
    nlohmann::json labels = nlohmann::json::array();
    for (std::size_t k = 0; k < energy.size(); ++k)
        labels.push_back(
            fmt::format("{}: {:.1f} % of the light", k, total > 0 ? 100 * energy[k] / total : 0.0));
    nlohmann::json meta = stackMeta(source.geometry->optics);
    meta["labels"] = labels;
    publishStack(context, "contributions", images, meta);
}

void Viewer::publishOptics(RunContext& context, const ViewSource& source)
{
    publishDrawing(context, "optics",
                   opticsDiagram(*source.item, *source.geometry, eyeFor(source), m_pixel));
}

void Viewer::publish(RunContext& context, const ViewSource& source)
{
    m_moved = {true, true, true, true, true};
    publishMoved(context, source);
}

void Viewer::publishMoved(RunContext& context, const ViewSource& source)
{
    if (!source.item || source.planes.isEmpty())
        return;
    const Moved moved = std::exchange(m_moved, {});
    const bool seesEye = wants("eye_view") || wants("target") || wants("error");
    if (seesEye && (moved.eye || moved.planesOn || moved.visible))
        publishEye(context, source);
    if (wants("planes") && (moved.planeMode || moved.visible))
        publishPlanes(context, source);
    if (wants("contributions") && (moved.eye || moved.visible))
        publishContributions(context, source);
    if (wants("optics") && (moved.eye || moved.pixel || moved.visible))
        publishOptics(context, source);
}

} // namespace vergence::light_field
