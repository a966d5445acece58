#include "plugins/light_field/motion.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/artifact/image_ops.h"
#include "plugins/light_field/compute/eye_view.h"
#include "plugins/light_field/pictures.h"

namespace vergence::light_field {

namespace {

/// Pairs of display view and real scene for one eye state after the other.
class MotionRenderer {
public:
    MotionRenderer(Stream& stream, const std::shared_ptr<Device>& device, const SweepItem& item,
                   const Geometry& geometry)
        : m_stream(stream),
          m_device(device),
          m_item(item),
          m_optics(geometry.optics),
          m_renderer(stream, device, geometry.optics, item.config.raysPerPixel)
    {
    }

    Image frame(const Tensor& planes, const EyeState& eye, const std::string& label)
    {
        const int side = m_optics.renderResolution;
        const Tensor view = m_renderer.render(m_stream, planes, eye);
        const std::array<LaneScene, 1> scenes = {LaneScene{m_item.scene, m_item.channels}};
        const std::array<EyeState, 1> states = {eye};
        const Targets truth =
            renderTargets(m_stream, m_device, m_optics, states, m_item.config.raysPerPixel, scenes);
        Image left = toRgb(imageFromLinear(interleaved(m_stream, view, 0, m_item.channels), side,
                                           side, m_item.channels));
        Image right =
            toRgb(imageFromLinear(interleaved(m_stream, truth.radiance, 0, m_item.channels), side,
                                  side, m_item.channels));
        burnLabel(left, label);
        burnLabel(right, "scene");
        return sideBySide(left, right);
    }

private:
    Stream& m_stream;
    const std::shared_ptr<Device>& m_device;
    const SweepItem& m_item;
    const Optics& m_optics;
    EyeRenderer m_renderer;
};

double middleAccommodation(const Geometry& geometry)
{
    const auto [least, most] = std::minmax_element(
        geometry.training.begin(), geometry.training.end(),
        [](const EyeState& a, const EyeState& b) { return a.accommodation < b.accommodation; });
    return (least->accommodation + most->accommodation) / 2;
}

} // namespace

std::vector<Image> focusSweep(Stream& stream, const std::shared_ptr<Device>& device,
                              const SweepItem& item, const Geometry& geometry, const Tensor& planes)
{
    constexpr int kFrames = 20;
    double nearest = 0;
    for (const EyeState& state : geometry.training)
        nearest = std::max(nearest, state.accommodation);
    MotionRenderer renderer(stream, device, item, geometry);
    std::vector<Image> frames;
    for (int i = 0; i < kFrames; ++i) {
        const double accommodation = (nearest + 2.0) * i / (kFrames - 1);
        frames.push_back(
            renderer.frame(planes, {0, 0, accommodation}, fmt::format("{:.2f} D", accommodation)));
    }
    return frames;
}

std::vector<Image> eyeSweep(Stream& stream, const std::shared_ptr<Device>& device,
                            const SweepItem& item, const Geometry& geometry, const Tensor& planes)
{
    constexpr int kFrames = 15;
    constexpr double kReach = 3.0; // mm
    MotionRenderer renderer(stream, device, item, geometry);
    const double accommodation = middleAccommodation(geometry);
    std::vector<Image> frames;
    for (int i = 0; i < kFrames; ++i) {
        const double x = kReach * (2.0 * i / (kFrames - 1) - 1.0);
        frames.push_back(
            renderer.frame(planes, {x, 0, accommodation}, fmt::format("{:+.2f} mm", x)));
    }
    return frames;
}

} // namespace vergence::light_field
