#include "plugins/sugar/surface/depth_view.h"

#include <algorithm>
#include <cmath>

#include <tbb/parallel_for.h>

#include "core/base/error.h"
#include "plugins/sugar/surface/front_splats.h"

namespace vergence::sugar {

namespace {

constexpr float kDepthStep = 0.1F;
constexpr float kShortestNormal = 1e-6F;

std::uint8_t byteOf(float value)
{
    return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0F, 1.0F)));
}

/// The normal of a pixel in world axes, turned to the camera; 0 where it is too short.
std::array<float, 3> worldNormal(const Camera& camera, const std::array<float, 3>& inCamera,
                                 std::size_t row, std::size_t column)
{
    const double length = std::sqrt(inCamera[0] * inCamera[0] + inCamera[1] * inCamera[1] +
                                    inCamera[2] * inCamera[2]);
    if (!(length > kShortestNormal))
        return {};
    const double x = (static_cast<double>(column) + 0.5 - camera.cx) / camera.fx;
    const double y = (static_cast<double>(row) + 0.5 - camera.cy) / camera.fy;
    const bool facesAway = inCamera[0] * x + inCamera[1] * y + inCamera[2] > 0;
    const double scale = (facesAway ? -1 : 1) / length;
    std::array<float, 3> world{};
    for (std::size_t i = 0; i < 3; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k)
            sum += camera.rotation[3 * k + i] * inCamera[k];
        world[i] = static_cast<float>(scale * sum);
    }
    return world;
}

void takeFrontDepth(DepthView& view, const GaussianCloud& cloud, const RasterSettings& settings)
{
    const FrontSplats front(cloud, view.camera, settings);
    const auto width = static_cast<std::uint32_t>(view.camera.width);
    tbb::parallel_for(std::uint32_t{0}, static_cast<std::uint32_t>(view.camera.height),
                      [&](std::uint32_t row) {
                          for (std::uint32_t i = row * width; i < (row + 1) * width; ++i) {
                              if (view.depth[i] > 0)
                                  view.depth[i] = front.at(i).value_or(FrontHit{}).depth;
                          }
                      });
}

} // namespace

DepthRenderer::DepthRenderer(const std::shared_ptr<Device>& device, RasterSettings settings,
                             DepthKind kind)
    : m_settings(settings),
      m_kind(kind),
      m_rasteriser(device)
{
    m_settings.geometry = true;
    m_settings.shDegree = 0;
}

void DepthRenderer::setStop(std::function<bool()> stopRequested)
{
    m_rasteriser.setStop(std::move(stopRequested));
}

DepthView DepthRenderer::render(Stream& stream, const Gaussians& gaussians, const Camera& camera,
                                double scale)
{
    expects(scale > 0 && std::isfinite(scale), "DepthRenderer: the scale must be above 0");
    const auto scaled = [&](int side) {
        return std::max(1, static_cast<int>(std::lround(scale * side)));
    };
    DepthView view;
    view.camera = resized(camera, scaled(camera.width), scaled(camera.height));
    const RasterImages& images = m_rasteriser.render(stream, gaussians, view.camera, m_settings);
    const auto transmittance = images.transmittance.toHost<float>(stream);
    const auto depth = images.depth.toHost<float>(stream);
    const auto normal = images.normal.toHost<float>(stream);
    const auto colour = images.colour.toHost<float>(stream);
    const std::size_t pixels = transmittance.size();
    const auto width = static_cast<std::size_t>(view.camera.width);
    view.depth.assign(pixels, 0);
    view.normal.assign(3 * pixels, 0);
    view.coverage.resize(pixels);
    view.colour.resize(3 * pixels);
    for (std::size_t i = 0; i < pixels; ++i) {
        view.coverage[i] = 1 - transmittance[i];
        for (std::size_t k = 0; k < 3; ++k)
            view.colour[3 * i + k] = byteOf(colour[k * pixels + i]);
        if (!(view.coverage[i] > kLeastCoverage))
            continue;
        view.depth[i] = depth[i] / view.coverage[i];
        const auto world =
            worldNormal(view.camera, {normal[i], normal[pixels + i], normal[2 * pixels + i]},
                        i / width, i % width);
        std::copy(world.begin(), world.end(), &view.normal[3 * i]);
    }
    if (m_kind == DepthKind::Front)
        takeFrontDepth(view, downloadShapes(stream, gaussians), m_settings);
    return view;
}

bool hasDepthStep(const DepthView& view, int row, int column)
{
    const int width = view.camera.width;
    if (row < 1 || column < 1 || row + 1 >= view.camera.height || column + 1 >= width)
        return true;
    const auto at = [&](int i, int j) {
        return view.depth[static_cast<std::size_t>(i) * static_cast<std::size_t>(width) +
                          static_cast<std::size_t>(j)];
    };
    const float left = at(row, column - 1), right = at(row, column + 1), up = at(row - 1, column),
                down = at(row + 1, column), most = kDepthStep * at(row, column);
    return left <= 0 || right <= 0 || up <= 0 || down <= 0 || !(std::abs(right - left) < most) ||
           !(std::abs(down - up) < most);
}

} // namespace vergence::sugar
