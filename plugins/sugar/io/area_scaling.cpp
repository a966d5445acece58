#include "plugins/sugar/io/area_scaling.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

/// Old pixels under one new pixel, with their shares of it.
struct Cover {
    int first = 0;
    std::vector<float> weights; ///< sum 1
};

std::vector<Cover> coversOf(int from, int to)
{
    std::vector<Cover> covers(static_cast<std::size_t>(to));
    const double ratio = static_cast<double>(from) / to;
    for (int i = 0; i < to; ++i) {
        Cover& cover = covers[static_cast<std::size_t>(i)];
        const double low = i * ratio, high = std::min<double>((i + 1) * ratio, from);
        cover.first = static_cast<int>(low);
        for (int j = cover.first; j < high - 1e-9; ++j) {
            const double share = std::min(high, j + 1.0) - std::max<double>(low, j);
            cover.weights.push_back(static_cast<float>(share / (high - low)));
        }
    }
    return covers;
}

/// [to · channels] sums of one row.
void scaleRow(const std::uint8_t* row, const std::vector<Cover>& covers, int channels, float* out)
{
    for (const Cover& cover : covers) {
        for (int c = 0; c < channels; ++c) {
            const std::uint8_t* from = row + cover.first * channels + c;
            float sum = 0;
            for (const float weight : cover.weights) {
                sum += weight * static_cast<float>(*from);
                from += channels;
            }
            *out++ = sum;
        }
    }
}

} // namespace

Image areaScaled(const Image& image, int width, int height)
{
    expects(width > 0 && height > 0 && width <= image.width && height <= image.height,
            "areaScaled: sides must shrink and stay above 0");
    if (width == image.width && height == image.height)
        return image;
    const auto columns = coversOf(image.width, width), rows = coversOf(image.height, height);
    Image result = makeImage(width, height, image.channels);
    const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(image.channels);
    std::vector<float> line(count), sums(count);
    for (int y = 0; y < height; ++y) {
        const Cover& cover = rows[static_cast<std::size_t>(y)];
        std::fill(sums.begin(), sums.end(), 0.5F); // rounds
        for (std::size_t j = 0; j < cover.weights.size(); ++j) {
            scaleRow(image.row(cover.first + static_cast<int>(j)), columns, image.channels,
                     line.data());
            for (std::size_t i = 0; i < count; ++i)
                sums[i] += cover.weights[j] * line[i];
        }
        std::uint8_t* out = result.row(y);
        for (std::size_t i = 0; i < count; ++i)
            out[i] = static_cast<std::uint8_t>(std::min(sums[i], 255.0F));
    }
    return result;
}

} // namespace vergence::sugar
