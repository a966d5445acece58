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

/// Adds `weight` times a row of pixels.
void addRow(const std::uint8_t* row, float weight, std::vector<float>& sums)
{
    for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += weight * static_cast<float>(row[i]);
}

/// Means of the columns under each new pixel, rounded.
void shrinkRow(const std::vector<float>& line, const std::vector<Cover>& covers, int channels,
               std::uint8_t* out)
{
    for (const Cover& cover : covers) {
        for (int c = 0; c < channels; ++c) {
            const float* from = line.data() + cover.first * channels + c;
            float sum = 0.5F;
            for (const float weight : cover.weights) {
                sum += weight * *from;
                from += channels;
            }
            *out++ = static_cast<std::uint8_t>(std::min(sum, 255.0F));
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
    std::vector<float> line(static_cast<std::size_t>(image.width) *
                            static_cast<std::size_t>(image.channels));
    for (int y = 0; y < height; ++y) {
        const Cover& cover = rows[static_cast<std::size_t>(y)];
        std::fill(line.begin(), line.end(), 0.0F);
        for (std::size_t j = 0; j < cover.weights.size(); ++j)
            addRow(image.row(cover.first + static_cast<int>(j)), cover.weights[j], line);
        shrinkRow(line, columns, image.channels, result.row(y));
    }
    return result;
}

} // namespace vergence::sugar
