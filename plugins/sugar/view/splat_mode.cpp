#include "plugins/sugar/view/splat_mode.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vergence::sugar {

namespace {

constexpr float kCovered = 0.5F; ///< least coverage at which depth and normal mean something
constexpr double kLow = 0.02, kHigh = 0.98; ///< quantiles of depth that span the colours
constexpr std::array<float, 3> kNothing{0.12F, 0.12F, 0.14F};

using Colour = std::array<float, 3>;

struct Planes {
    Index width = 0, height = 0;
    bool isSummed = true; ///< depth is Σ w z, not z
    std::vector<float> colour, transmittance, depth, normal;
    std::vector<std::int32_t> contributors;

    Index count() const { return width * height; }
    float coverage(Index i) const { return 1 - transmittance[static_cast<std::size_t>(i)]; }
    bool isCovered(Index i) const { return coverage(i) > kCovered; }
    float depthAt(Index i) const
    {
        return depth[static_cast<std::size_t>(i)] / (isSummed ? coverage(i) : 1);
    }
    Colour normalAt(Index i) const
    {
        const auto at = [&](Index c) { return normal[static_cast<std::size_t>(c * count() + i)]; };
        const float length = std::hypot(at(0), at(1), at(2));
        if (!(length > 0))
            return {0, 0, -1};
        return {at(0) / length, at(1) / length, at(2) / length};
    }
};

Planes toHost(Stream& stream, const RasterImages& images, SplatMode mode)
{
    Planes planes;
    planes.height = images.transmittance.extent(0);
    planes.width = images.transmittance.extent(1);
    planes.transmittance = images.transmittance.toHost<float>(stream);
    if (needsGeometry(mode)) {
        planes.depth = images.depth.toHost<float>(stream);
        planes.normal = images.normal.toHost<float>(stream);
    } else if (ownDepth(mode)) {
        planes.depth = images.depth.toHost<float>(stream);
        planes.isSummed = false;
    } else if (mode == SplatMode::Contributors) {
        planes.contributors = images.contributors.toHost<std::int32_t>(stream);
    } else {
        planes.colour = images.colour.toHost<float>(stream);
    }
    return planes;
}

template <class Paint>
std::vector<std::uint8_t> painted(const Planes& planes, Paint paint)
{
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(planes.count()) * 4);
    auto* out = pixels.data();
    for (Index i = 0; i < planes.count(); ++i, out += 4) {
        const Colour colour = paint(i);
        for (std::size_t c = 0; c < 3; ++c)
            out[c] = static_cast<std::uint8_t>(std::clamp(colour[c], 0.0F, 1.0F) * 255 + 0.5F);
        out[3] = 255;
    }
    return pixels;
}

ColourSpan depthSpan(const Planes& planes)
{
    std::vector<float> depths;
    for (Index i = 0; i < planes.count(); i += 7) {
        if (planes.isCovered(i))
            depths.push_back(planes.depthAt(i));
    }
    if (depths.empty())
        return {0, 1};
    const auto quantile = [&](double q) {
        const auto at = depths.begin() +
                        static_cast<std::ptrdiff_t>(q * static_cast<double>(depths.size() - 1));
        std::nth_element(depths.begin(), at, depths.end());
        return static_cast<double>(*at);
    };
    const double low = quantile(kLow), high = quantile(kHigh);
    return {low, std::max(high, low + 1e-6)};
}

/// Camera axes shown as people expect: red to the right, green up, blue towards the viewer.
Colour colourOfNormal(const Colour& n)
{
    return {0.5F + 0.5F * n[0], 0.5F - 0.5F * n[1], 0.5F - 0.5F * n[2]};
}

/// Normal of the surface through the depths of the four neighbours, in camera axes.
bool depthNormal(const Planes& planes, const Camera& camera, Index i, Colour& normal)
{
    const Index x = i % planes.width, y = i / planes.width;
    if (x < 1 || y < 1 || x > planes.width - 2 || y > planes.height - 2)
        return false;
    const auto point = [&](Index px, Index py) {
        const double depth = planes.depthAt(py * planes.width + px);
        return std::array<double, 3>{
            depth * (static_cast<double>(px) + 0.5 - camera.cx) / camera.fx,
            depth * (static_cast<double>(py) + 0.5 - camera.cy) / camera.fy, depth};
    };
    for (const Index at : {i - 1, i + 1, i - planes.width, i + planes.width}) {
        if (!planes.isCovered(at))
            return false;
    }
    const auto left = point(x - 1, y), right = point(x + 1, y), above = point(x, y - 1),
               below = point(x, y + 1);
    std::array<double, 3> dx{}, dy{};
    for (std::size_t k = 0; k < 3; ++k) {
        dx[k] = right[k] - left[k];
        dy[k] = below[k] - above[k];
    }
    const std::array<double, 3> m{dy[1] * dx[2] - dy[2] * dx[1], dy[2] * dx[0] - dy[0] * dx[2],
                                  dy[0] * dx[1] - dy[1] * dx[0]};
    const double length = std::hypot(m[0], m[1], m[2]);
    if (!(length > 1e-20))
        return false;
    for (std::size_t k = 0; k < 3; ++k)
        normal[k] = static_cast<float>(m[k] / length);
    return true;
}

Colour gapColour(const Colour& a, const Colour& b)
{
    const float cosine = std::clamp(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], -1.0F, 1.0F);
    const double angle = std::acos(static_cast<double>(cosine));
    return turbo(static_cast<float>(angle / (std::numbers::pi / 2)));
}

std::vector<std::uint8_t> geometryPixels(const Planes& planes, const Camera& camera, SplatMode mode,
                                         const ColourSpan& span)
{
    return painted(planes, [&](Index i) -> Colour {
        if (!planes.isCovered(i))
            return kNothing;
        if (mode == SplatMode::Depth || ownDepth(mode))
            return turbo(
                static_cast<float>((planes.depthAt(i) - span.low) / (span.high - span.low)));
        if (mode == SplatMode::Normal)
            return colourOfNormal(planes.normalAt(i));
        Colour normal{};
        if (!depthNormal(planes, camera, i, normal))
            return kNothing;
        return mode == SplatMode::DepthNormal ? colourOfNormal(normal)
                                              : gapColour(normal, planes.normalAt(i));
    });
}

} // namespace

const std::vector<std::string>& splatModeTitles()
{
    static const std::vector<std::string> titles{"Colour",
                                                 "Depth",
                                                 "Median depth",
                                                 "Ray depth",
                                                 "Normals",
                                                 "Normals from depth",
                                                 "Normal difference",
                                                 "Coverage",
                                                 "Gaussians per pixel",
                                                 "Test error",
                                                 "Gradient",
                                                 "3D filter",
                                                 "Opacity",
                                                 "Centres",
                                                 "Ellipsoids"};
    return titles;
}

bool needsGeometry(SplatMode mode)
{
    return mode == SplatMode::Depth || mode == SplatMode::Normal ||
           mode == SplatMode::DepthNormal || mode == SplatMode::NormalGap;
}

std::optional<Rasteriser::Depth> ownDepth(SplatMode mode)
{
    if (mode == SplatMode::MedianDepth)
        return Rasteriser::Depth::Median;
    if (mode == SplatMode::RayDepth)
        return Rasteriser::Depth::Ray;
    return std::nullopt;
}

bool isPerGaussian(SplatMode mode)
{
    return mode == SplatMode::TestError || mode == SplatMode::Gradient ||
           mode == SplatMode::FilterSize || mode == SplatMode::Opacity;
}

std::array<float, 3> turbo(float value)
{
    // Every eighth of the published table, read off in between.
    static constexpr std::array<Colour, 9> kTable{{{0.190F, 0.072F, 0.232F},
                                                   {0.275F, 0.408F, 0.859F},
                                                   {0.157F, 0.735F, 0.923F},
                                                   {0.198F, 0.949F, 0.594F},
                                                   {0.644F, 0.990F, 0.234F},
                                                   {0.933F, 0.812F, 0.227F},
                                                   {0.985F, 0.493F, 0.128F},
                                                   {0.816F, 0.185F, 0.018F},
                                                   {0.480F, 0.016F, 0.011F}}};
    const float at = std::clamp(std::isfinite(value) ? value : 0.0F, 0.0F, 1.0F) * 8;
    const auto left = std::min<std::size_t>(7, static_cast<std::size_t>(at));
    const float share = at - static_cast<float>(left);
    Colour colour{};
    for (std::size_t c = 0; c < 3; ++c)
        colour[c] = kTable[left][c] + share * (kTable[left + 1][c] - kTable[left][c]);
    return colour;
}

std::vector<std::uint8_t> pixelsOf(Stream& stream, const RasterImages& images, const Camera& camera,
                                   SplatMode mode, ColourSpan* span)
{
    const Planes planes = toHost(stream, images, mode);
    ColourSpan used;
    if (needsGeometry(mode) || ownDepth(mode)) {
        if (mode == SplatMode::Depth || ownDepth(mode))
            used = depthSpan(planes);
        if (span)
            *span = mode == SplatMode::NormalGap ? ColourSpan{0, 90} : used;
        return geometryPixels(planes, camera, mode, used);
    }
    if (mode == SplatMode::Contributors) {
        const auto most = std::max_element(planes.contributors.begin(), planes.contributors.end());
        used.high = planes.contributors.empty() ? 1 : std::max(1, *most);
        if (span)
            *span = used;
        return painted(planes, [&](Index i) {
            return turbo(
                static_cast<float>(planes.contributors[static_cast<std::size_t>(i)] / used.high));
        });
    }
    if (span)
        *span = used;
    if (mode == SplatMode::Coverage)
        return painted(planes, [&](Index i) {
            const float coverage = planes.coverage(i);
            return Colour{coverage, coverage, coverage};
        });
    return painted(planes, [&](Index i) {
        const auto at = [&](Index c) {
            return planes.colour[static_cast<std::size_t>(c * planes.count() + i)];
        };
        return Colour{at(0), at(1), at(2)};
    });
}

} // namespace vergence::sugar
