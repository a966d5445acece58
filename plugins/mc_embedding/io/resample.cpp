#include "plugins/mc_embedding/io/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

constexpr int kFractionBits = 22;

/// Keys' cubic with a = −0.5.
double cubic(double x)
{
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double triangle(double x)
{
    return std::max(0.0, 1 - std::abs(x));
}

void expectPicture(const Image& image, const char* text)
{
    expects(image.width > 0 && image.height > 0 &&
                image.pixels.size() == static_cast<std::size_t>(image.width) *
                                           static_cast<std::size_t>(image.height) *
                                           static_cast<std::size_t>(image.channels),
            text);
}

} // namespace

AxisWeights axisWeights(int in, int out, Filter filter, int begin, int end)
{
    const double scale = static_cast<double>(in) / out, spread = std::max(scale, 1.0);
    const double support = (filter == Filter::Bicubic ? 2 : 1) * spread, narrow = 1 / spread;
    AxisWeights weights;
    weights.taps = static_cast<int>(std::ceil(support)) * 2 + 1;
    const auto taps = static_cast<std::size_t>(weights.taps);
    weights.coefficients.assign(static_cast<std::size_t>(end - begin) * taps, 0);
    std::vector<double> w(taps);
    for (int o = begin; o < end; ++o) {
        const double centre = (o + 0.5) * scale;
        const int first = std::max(static_cast<int>(std::floor(centre - support + 0.5)), 0);
        const int last = std::min(static_cast<int>(std::floor(centre + support + 0.5)), in);
        const auto count = static_cast<std::size_t>(last - first);
        double sum = 0;
        for (std::size_t j = 0; j < count; ++j) {
            const double x = (static_cast<double>(j) + first - centre + 0.5) * narrow;
            w[j] = filter == Filter::Bicubic ? cubic(x) : triangle(x);
            sum += w[j];
        }
        std::int32_t* to = weights.coefficients.data() + weights.first.size() * taps;
        for (std::size_t j = 0; j < count; ++j) {
            const double fixed = (sum != 0 ? w[j] / sum : w[j]) * (1 << kFractionBits);
            to[j] = static_cast<std::int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5);
        }
        weights.first.push_back(first);
        weights.count.push_back(last - first);
    }
    return weights;
}

Image resizedWindow(const Image& image, int width, int height, Filter filter, const Window& window)
{
    expectPicture(image, "resized: a picture with pixels");
    expects(width > 0 && height > 0, "resized: 1 pixel or more per side");
    expects(window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0 &&
                window.x + window.width <= width && window.y + window.height <= height,
            "resized: a window inside of the picture");
    // An axis that keeps its size has the weight one everywhere, which is the same as no pass.
    const AxisWeights across =
        axisWeights(image.width, width, filter, window.x, window.x + window.width);
    const AxisWeights down =
        axisWeights(image.height, height, filter, window.y, window.y + window.height);
    const int firstRow = down.first.front(), endRow = down.first.back() + down.count.back();
    Image rows = makeImage(window.width, endRow - firstRow, image.channels);
    filterRows({&image, firstRow, &across, &rows});
    Image result = makeImage(window.width, window.height, image.channels);
    filterColumns({&rows, firstRow, &down, &result});
    return result;
}

Image resized(const Image& image, int width, int height, Filter filter)
{
    return resizedWindow(image, width, height, filter, {0, 0, width, height});
}

Image preprocessed(const Image& image, const Preprocess& how)
{
    expectPicture(image, "preprocessed: a picture with pixels");
    expects(image.channels == 3, "preprocessed: RGB");
    const int size = how.size;
    if (how.stretches)
        return resized(image, size, size, how.filter);
    const bool isUpright = image.height >= image.width;
    const std::int64_t longSide = std::max(image.width, image.height);
    const auto scaledSide = static_cast<int>(size * longSide / std::min(image.width, image.height));
    const int width = isUpright ? size : scaledSide, height = isUpright ? scaledSide : size;
    const auto offset = [&](int side) {
        const int margin = side - size, half = margin / 2;
        // Half a pixel goes to the even neighbour.
        return margin % 2 == 0 || how.floorsCrop ? half : half + half % 2;
    };
    return resizedWindow(image, width, height, how.filter,
                         {offset(width), offset(height), size, size});
}

void filterRowsPlain(const RowPass& pass)
{
    const AxisWeights& weights = *pass.weights;
    const int channels = pass.from->channels;
    for (int y = 0; y < pass.to->height; ++y) {
        const std::uint8_t* from = pass.from->row(pass.firstRow + y);
        std::uint8_t* to = pass.to->row(y);
        for (int x = 0; x < pass.to->width; ++x) {
            const auto at = static_cast<std::size_t>(x);
            const std::int32_t* w =
                weights.coefficients.data() + at * static_cast<std::size_t>(weights.taps);
            for (int c = 0; c < channels; ++c) {
                std::int32_t sum = 1 << (kFractionBits - 1);
                for (int j = 0; j < weights.count[at]; ++j)
                    sum += w[j] * from[(weights.first[at] + j) * channels + c];
                *to++ = static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
            }
        }
    }
}

} // namespace vergence::mc_embedding
