#include "plugins/foveated_vlm/shards/resample.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

/// Keys' cubic, a = −1/2.
double cubic(double x)
{
    x = std::abs(x);
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2)
        return ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return 0;
}

/// What one position of the result reads.
struct Taps {
    int first = 0;
    std::vector<float> weights;
};

std::vector<Taps> tapsOf(double begin, double length, int from, int to)
{
    const double scale = length / to, stretch = std::max(scale, 1.0), reach = 2 * stretch;
    std::vector<Taps> taps(static_cast<std::size_t>(to));
    for (int i = 0; i < to; ++i) {
        const double centre = begin + (i + 0.5) * scale;
        Taps& t = taps[static_cast<std::size_t>(i)];
        t.first = std::clamp(static_cast<int>(std::floor(centre - reach + 0.5)), 0, from - 1);
        const int last =
            std::clamp(static_cast<int>(std::floor(centre + reach + 0.5)), t.first + 1, from);
        double sum = 0;
        for (int x = t.first; x < last; ++x)
            sum += cubic((x + 0.5 - centre) / stretch);
        for (int x = t.first; x < last; ++x)
            t.weights.push_back(static_cast<float>(cubic((x + 0.5 - centre) / stretch) / sum));
    }
    return taps;
}

} // namespace

std::vector<std::uint8_t> resampled(const Image& rgb, const PictureWindow& window, int width,
                                    int height)
{
    expects(rgb.channels == 3 && rgb.width > 0 && rgb.height > 0, "resampled: an RGB picture");
    expects(width > 0 && height > 0 && window.width > 0 && window.height > 0,
            "resampled: a size and a window with pixels");
    const auto columns = tapsOf(window.x, window.width, rgb.width, width);
    const auto rows = tapsOf(window.y, window.height, rgb.height, height);
    const int top = rows.front().first;
    const int bottom = rows.back().first + static_cast<int>(rows.back().weights.size());
    const auto across = static_cast<std::size_t>(width) * 3;
    std::vector<float> narrow(static_cast<std::size_t>(bottom - top) * across);
    for (int y = top; y < bottom; ++y) {
        float* to = narrow.data() + static_cast<std::size_t>(y - top) * across;
        for (const Taps& t : columns) {
            const std::uint8_t* from = rgb.row(y) + 3 * t.first;
            float sum[3] = {0, 0, 0};
            for (const float weight : t.weights) {
                for (int c = 0; c < 3; ++c)
                    sum[c] += weight * static_cast<float>(*from++);
            }
            to = std::copy_n(sum, 3, to);
        }
    }
    const auto plane = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    std::vector<std::uint8_t> result(3 * plane);
    std::vector<float> row(across);
    for (std::size_t y = 0; y < rows.size(); ++y) {
        std::fill(row.begin(), row.end(), 0.f);
        const float* from = narrow.data() + static_cast<std::size_t>(rows[y].first - top) * across;
        for (const float weight : rows[y].weights) {
            for (std::size_t x = 0; x < across; ++x)
                row[x] += weight * *from++;
        }
        for (std::size_t x = 0; x < across; ++x)
            result[x % 3 * plane + y * static_cast<std::size_t>(width) + x / 3] =
                static_cast<std::uint8_t>(std::clamp(row[x] + 0.5f, 0.f, 255.f));
    }
    return result;
}

} // namespace vergence::fvlm
