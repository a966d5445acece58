#include "plugins/light_field/compute/scene.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace vergence::light_field {

namespace {

bool isGrey(const float* rgb)
{
    return rgb[0] == rgb[1] && rgb[1] == rgb[2];
}

bool isSurface(float depth)
{
    return std::isfinite(depth) && depth > 0;
}

DepthRange rangeOf(const DepthImage& image)
{
    DepthRange range{std::numeric_limits<double>::infinity(), 0};
    for (const float depth : image.depth) {
        if (isSurface(depth)) {
            range.nearMm = std::min<double>(range.nearMm, depth);
            range.farMm = std::max<double>(range.farMm, depth);
        }
    }
    return range;
}

} // namespace

Scene::Scene(std::string name, std::vector<Primitive> primitives)
    : m_name(std::move(name)),
      m_primitives(std::move(primitives))
{
    for (const Primitive& primitive : m_primitives)
        expects(primitive.size > 0 && primitive.textureScale > 0,
                "scene: sizes and texture scales must be positive");
}

bool Scene::isAchromatic() const
{
    bool grey = isGrey(m_background.data());
    for (const Primitive& primitive : m_primitives)
        grey = grey && isGrey(primitive.color);
    for (std::size_t i = 0; grey && i + 2 < m_image.color.size(); i += 3)
        grey = isGrey(&m_image.color[i]);
    return grey;
}

DepthRange Scene::depthRange() const
{
    expects(!m_primitives.empty() || hasDepthImage(), "scene: an empty scene has no depth");
    DepthRange range{std::numeric_limits<double>::infinity(), 0};
    if (hasDepthImage())
        range = rangeOf(m_image);
    for (const Primitive& primitive : m_primitives) {
        const bool sphere = primitive.kind == PrimitiveKind::Sphere;
        const double half = sphere ? primitive.size : primitive.size / 2;
        range.nearMm = std::min(range.nearMm, primitive.center[2] - half);
        range.farMm = std::max(range.farMm, primitive.center[2] + (sphere ? 0.0 : half));
    }
    return range;
}

Scene depthImageScene(std::string name, DepthImage image)
{
    const auto pixels =
        static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
    expects(image.width > 0 && image.height > 0 && image.color.size() == 3 * pixels &&
                image.depth.size() == pixels,
            "picture with depth: colour must be [height, width, 3] and depth [height, width]");
    expects(image.slopeExtent > 0, "picture with depth: the slope extent must be positive");
    expects(std::any_of(image.depth.begin(), image.depth.end(), isSurface),
            "picture with depth: no pixel has a positive depth");
    Scene scene;
    scene.m_name = std::move(name);
    scene.m_image = std::move(image);
    return scene;
}

SceneOnDevice::SceneOnDevice(Stream& stream, const std::shared_ptr<Device>& device,
                             const Scene& scene)
{
    const auto primitives = scene.primitives();
    const std::span<const std::uint8_t> bytes(
        reinterpret_cast<const std::uint8_t*>(primitives.data()), primitives.size_bytes());
    m_primitives =
        Tensor::fromHost<std::uint8_t>(stream, device, {static_cast<Index>(bytes.size())}, bytes);
    m_view.primitives = static_cast<const Primitive*>(m_primitives.data());
    m_view.count = static_cast<int>(primitives.size());
    std::copy(scene.background().begin(), scene.background().end(), m_view.background);
    m_view.lambert = scene.lambert();
    if (!scene.hasDepthImage())
        return;
    const DepthImage& image = scene.depthImage();
    std::vector<float> inverse(image.depth.size());
    std::transform(image.depth.begin(), image.depth.end(), inverse.begin(),
                   [](float depth) { return isSurface(depth) ? 1.0f / depth : 0.0f; });
    m_color = Tensor::fromHost<float>(stream, device, {image.height, image.width, 3}, image.color);
    m_inverseDepth = Tensor::fromHost<float>(stream, device, {image.height, image.width}, inverse);
    const DepthRange range = rangeOf(image);
    m_view.color = static_cast<const float*>(m_color.data());
    m_view.inverseDepth = static_cast<const float*>(m_inverseDepth.data());
    m_view.width = image.width;
    m_view.height = image.height;
    m_view.slopeExtent = image.slopeExtent;
    m_view.inverseNear = 1 / range.nearMm;
    m_view.inverseFar = 1 / range.farMm;
}

} // namespace vergence::light_field
