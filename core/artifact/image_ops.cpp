#include "core/artifact/image_ops.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence {

namespace {

/// Mean of the pixels of `image` that fall into [x0, x1) × [y0, y1), at least one pixel.
std::uint8_t areaMean(const Image& image, int x0, int x1, int y0, int y1, int channel)
{
    unsigned sum = 0, count = 0;
    for (int y = y0; y < std::max(y1, y0 + 1); ++y) {
        const std::uint8_t* row = image.row(y);
        for (int x = x0; x < std::max(x1, x0 + 1); ++x, ++count)
            sum += row[x * image.channels + channel];
    }
    return static_cast<std::uint8_t>((sum + count / 2) / count);
}

/// 3 or 4 channels: grey is repeated, a missing fourth one is opaque.
Image withChannels(const Image& image, int channels)
{
    if (image.channels == channels)
        return image;
    Image result = makeImage(image.width, image.height, channels);
    const auto count = static_cast<std::size_t>(image.width) * image.height;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* from = image.pixels.data() + i * image.channels;
        std::uint8_t* to = result.pixels.data() + i * channels;
        for (int c = 0; c < 3; ++c)
            to[c] = from[image.channels >= 3 ? c : 0];
        if (channels == 4)
            to[3] = 255;
    }
    return result;
}

} // namespace

Image scaled(const Image& image, double scale)
{
    expects(scale > 0, "scaled: a scale above 0");
    if (scale == 1)
        return image;
    const int width = std::max(1, static_cast<int>(std::lround(image.width * scale)));
    const int height = std::max(1, static_cast<int>(std::lround(image.height * scale)));
    Image result = makeImage(width, height, image.channels);
    const auto edge = [](int i, int from, int to) {
        return static_cast<int>(static_cast<std::int64_t>(i) * from / to);
    };
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            for (int c = 0; c < image.channels; ++c) {
                result.row(y)[x * image.channels + c] =
                    areaMean(image, edge(x, image.width, width), edge(x + 1, image.width, width),
                             edge(y, image.height, height), edge(y + 1, image.height, height), c);
            }
        }
    }
    return result;
}

Image toRgba(const Image& image)
{
    return withChannels(image, 4);
}

Image toRgb(const Image& image)
{
    return withChannels(image, 3);
}

Image centredOn(const Image& image, int width, int height)
{
    if (image.width == width && image.height == height)
        return image;
    Image result = makeImage(width, height, image.channels);
    paste(result, image, (width - image.width) / 2, (height - image.height) / 2);
    return result;
}

} // namespace vergence
