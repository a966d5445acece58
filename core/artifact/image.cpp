#include "core/artifact/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/view/frame_publisher.h"

namespace vergence {

Image makeImage(int width, int height, int channels, std::uint8_t fill)
{
    expects(width >= 0 && height >= 0 && channels >= 1 && channels <= 4,
            "makeImage: extents and one to four channels");
    Image image;
    image.width = width;
    image.height = height;
    image.channels = channels;
    image.pixels.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                            static_cast<std::size_t>(channels),
                        fill);
    return image;
}

Image imageFromLinear(std::span<const float> linear, int width, int height, int channels, bool raw)
{
    Image image = makeImage(width, height, channels);
    expects(linear.size() == image.pixels.size(),
            "imageFromLinear: value count differs from the size");
    for (std::size_t i = 0; i < linear.size(); ++i) {
        const bool isAlpha = channels == 4 && i % 4 == 3;
        const float value = linear[i] > 0 ? std::min(linear[i], 1.0f) : 0.0f; // also NaN
        image.pixels[i] = raw || isAlpha ? static_cast<std::uint8_t>(std::lround(value * 255.0f))
                                         : encodeSrgb8(value);
    }
    return image;
}

std::vector<float> linearFromImage(const Image& image)
{
    std::vector<float> linear(image.pixels.size());
    for (std::size_t i = 0; i < linear.size(); ++i) {
        const bool isAlpha = image.channels == 4 && i % 4 == 3;
        linear[i] =
            isAlpha ? static_cast<float>(image.pixels[i]) / 255.0f : decodeSrgb8(image.pixels[i]);
    }
    return linear;
}

Image readImage(const std::filesystem::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    char front[8] = {};
    stream.read(front, sizeof(front));
    if (stream.gcount() >= 8 && std::memcmp(front, "\x89PNG\r\n\x1a\n", 8) == 0)
        return readPng(path);
    if (stream.gcount() >= 3 && std::memcmp(front, "\xff\xd8\xff", 3) == 0)
        return readJpeg(path);
    if (!stream.is_open())
        throw InputError(fmt::format("Cannot read {}: {}.", path.string(), std::strerror(errno)));
    throw InputError(
        fmt::format("Cannot read {}: it is neither a PNG nor a JPEG image.", path.string()));
}

void paste(Image& target, const Image& source, int x, int y)
{
    expects(target.channels == source.channels, "paste: channel counts differ");
    const int left = std::max(0, -x), right = std::min(source.width, target.width - x);
    if (left >= right)
        return;
    const auto channels = static_cast<std::size_t>(source.channels);
    for (int row = std::max(0, -y); row < std::min(source.height, target.height - y); ++row) {
        std::memcpy(target.row(y + row) + static_cast<std::size_t>(x + left) * channels,
                    source.row(row) + static_cast<std::size_t>(left) * channels,
                    static_cast<std::size_t>(right - left) * channels);
    }
}

} // namespace vergence
