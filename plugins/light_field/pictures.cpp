#include "plugins/light_field/pictures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/image_ops.h"

namespace vergence::light_field {

std::vector<float> interleaved(Stream& stream, const Tensor& images, int state, int channels)
{
    const Tensor one = images.rank() == 4 ? images.slice(state) : images;
    const auto lanes = static_cast<std::size_t>(one.shape().back());
    const std::vector<float> all = one.toHost<float>(stream);
    if (lanes == static_cast<std::size_t>(channels))
        return all;
    std::vector<float> used(all.size() / lanes * static_cast<std::size_t>(channels));
    for (std::size_t i = 0, o = 0; i < all.size(); i += lanes) {
        for (int c = 0; c < channels; ++c)
            used[o++] = all[i + static_cast<std::size_t>(c)];
    }
    return used;
}

std::vector<Image> planeImages(std::span<const float> planes, int side, int channels, bool raw)
{
    const std::size_t rowBytes =
        static_cast<std::size_t>(side) * static_cast<std::size_t>(channels);
    const std::size_t size = rowBytes * static_cast<std::size_t>(side);
    expects(size > 0 && planes.size() % size == 0,
            "planeImages: the planes must be [K, side, side, channels]");
    std::vector<Image> images;
    for (std::size_t first = 0; first < planes.size(); first += size) {
        Image image = imageFromLinear(planes.subspan(first, size), side, side, channels, raw);
        for (int y = 0; y < side / 2; ++y)
            std::swap_ranges(image.row(y), image.row(y) + rowBytes, image.row(side - 1 - y));
        images.push_back(std::move(image));
    }
    return images;
}

namespace {

/// Every step-th pixel; enough for an overview.
Image thumbnail(const Image& image, int widest)
{
    const int step = std::max(1, (image.width + widest - 1) / widest);
    Image small = makeImage(image.width / step, image.height / step, image.channels);
    for (int y = 0; y < small.height; ++y) {
        for (int x = 0; x < small.width; ++x) {
            for (int c = 0; c < image.channels; ++c) {
                int brightest = 0; // panel images are dotted: the mean would be black
                for (int dy = 0; dy < step; ++dy)
                    for (int dx = 0; dx < step; ++dx)
                        brightest = std::max<int>(
                            brightest,
                            image.row(y * step + dy)[(x * step + dx) * image.channels + c]);
                small.row(y)[x * image.channels + c] = static_cast<std::uint8_t>(brightest);
            }
        }
    }
    return small;
}

} // namespace

Image contactSheet(const std::vector<Image>& planes, const Optics& optics)
{
    expects(!planes.empty(), "contactSheet: no planes");
    constexpr int kCell = 256, kCaption = 18, kGap = 8, kColumns = 4;
    const int columns = std::min<int>(kColumns, static_cast<int>(planes.size()));
    const int rows = (static_cast<int>(planes.size()) + columns - 1) / columns;
    Image sheet =
        makeImage(columns * (kCell + kGap) + kGap, rows * (kCell + kCaption + kGap) + kGap, 3, 24);
    for (int k = 0; k < static_cast<int>(planes.size()); ++k) {
        const int x = kGap + k % columns * (kCell + kGap),
                  y = kGap + k / columns * (kCell + kCaption + kGap);
        paste(sheet, toRgb(thumbnail(planes[static_cast<std::size_t>(k)], kCell)), x, y);
        drawText(sheet, x, y + kCell + 6, fmt::format("{}: {}", k, planeLabel(optics, k)), 220, 220,
                 220);
    }
    return sheet;
}

Image errorImage(std::span<const float> image, std::span<const float> target, int width, int height,
                 int channels, float scale)
{
    expects(image.size() == target.size(), "errorImage: image and target differ in size");
    Image result = makeImage(width, height, 3);
    for (std::size_t i = 0; i < static_cast<std::size_t>(width) * height; ++i) {
        float error = 0;
        for (int c = 0; c < channels; ++c)
            error += image[i * channels + c] - target[i * channels + c];
        const float t = std::clamp(error / (static_cast<float>(channels) * scale), -1.0f, 1.0f);
        const float fade = 1.0f - std::abs(t);
        const auto byte = [](float value) {
            return static_cast<std::uint8_t>(std::lround(255.0f * value));
        };
        result.pixels[i * 3] = byte(t > 0 ? 1.0f - 0.3f * t : fade);
        result.pixels[i * 3 + 1] = byte(fade);
        result.pixels[i * 3 + 2] = byte(t < 0 ? 1.0f + 0.3f * t : fade);
    }
    return result;
}

void burnLabel(Image& image, const std::string& label)
{
    const int scale = std::max(1, image.width / 256);
    for (const int shift : {scale, 0}) {
        const auto tone = static_cast<std::uint8_t>(shift ? 0 : 255);
        drawText(image, 4 * scale + shift, 4 * scale + shift, label, tone, tone,
                 static_cast<std::uint8_t>(shift ? 0 : 120), scale);
    }
}

Image sideBySide(const Image& left, const Image& right)
{
    constexpr int kGap = 8;
    Image both =
        makeImage(left.width + kGap + right.width, std::max(left.height, right.height), 3, 24);
    paste(both, toRgb(left), 0, 0);
    paste(both, toRgb(right), left.width + kGap, 0);
    return both;
}

std::string planeLabel(const Optics& optics, int plane)
{
    if (!centralDepthPlane(optics))
        return fmt::format("f {:.1f} mm", optics.focalLengths[static_cast<std::size_t>(plane)]);
    const PlaneGeometry geometry = planeGeometry(optics, plane);
    if (!geometry.usable)
        return fmt::format("f {:.1f} mm, cannot be focused", geometry.focalLength);
    return fmt::format("{:.2f} D, {:.0f} mm, f {:.1f} mm", geometry.vergence, geometry.distance,
                       geometry.focalLength);
}

} // namespace vergence::light_field
