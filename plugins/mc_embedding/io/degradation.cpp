#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/mc_embedding/io/image_random.h"
#include "plugins/mc_embedding/io/preprocess.h"

namespace vergence::mc_embedding {

namespace {

/// One extended box blur as Pillow computes it: 24-bit fixed point, whole weight for 2r + 1
/// positions, `edge` for the two beyond; positions outside repeat the border. Single precision is
/// Pillow's, and decides the last bit of the weights.
struct Box {
    int radius = 0;
    std::uint32_t whole = 0, edge = 0;

    explicit Box(float exactRadius)
        : radius(static_cast<int>(exactRadius)),
          whole(static_cast<std::uint32_t>(static_cast<float>(1 << 24) / (exactRadius * 2 + 1)))
    {
        edge = ((1u << 24) - static_cast<std::uint32_t>(radius * 2 + 1) * whole) / 2;
    }
};

/// Fourier-optimal radius of `passes` extended boxes for a Gaussian of deviation `radius`.
/// Source: Theoretical foundations of Gaussian convolution by extended box filtering (2012).
float boxRadius(float radius, int passes)
{
    const float sigma2 = radius * radius / static_cast<float>(passes);
    const float length = static_cast<float>(std::sqrt(12.0 * sigma2 + 1.0));
    const float l = static_cast<float>(std::floor((length - 1.0) / 2.0));
    float a = (2 * l + 1) * (l * (l + 1) - 3 * sigma2);
    a /= 6 * (sigma2 - (l + 1) * (l + 1));
    return l + a;
}

/// Lines of `count` groups of `width` bytes; every byte of a group is its own signal. Width is a
/// number, or an integral constant for loops that unroll.
template <class Width>
void boxBlurLine(const std::uint8_t* from, std::uint8_t* to, int count, Width width, const Box& box,
                 std::vector<std::uint32_t>& sums)
{
    const auto group = [&](int i) {
        return from + static_cast<std::size_t>(std::clamp(i, 0, count - 1)) * width;
    };
    sums.assign(width, 0);
    for (int i = -box.radius - 1; i < box.radius; ++i) {
        const std::uint8_t* add = group(i);
        for (std::size_t b = 0; b < width; ++b)
            sums[b] += add[b];
    }
    for (int i = 0; i < count; ++i, to += width) {
        const std::uint8_t *left = group(i - box.radius - 1), *right = group(i + box.radius + 1);
        const std::uint8_t* add = group(i + box.radius);
        for (std::size_t b = 0; b < width; ++b) {
            sums[b] += static_cast<std::uint32_t>(add[b] - left[b]);
            const std::uint32_t edges = (left[b] + std::uint32_t{right[b]}) * box.edge;
            to[b] = static_cast<std::uint8_t>((sums[b] * box.whole + edges + (1u << 23)) >> 24);
        }
    }
}

void blurRows(Image& image, const Box& box)
{
    const auto channels = static_cast<std::size_t>(image.channels);
    std::vector<std::uint8_t> line(static_cast<std::size_t>(image.width) * channels);
    std::vector<std::uint32_t> sums;
    for (int y = 0; y < image.height; ++y) {
        std::copy_n(image.row(y), line.size(), line.begin());
        if (channels == 3)
            boxBlurLine(line.data(), image.row(y), image.width,
                        std::integral_constant<std::size_t, 3>(), box, sums);
        else
            boxBlurLine(line.data(), image.row(y), image.width, channels, box, sums);
    }
}

void blurColumns(Image& image, const Box& box)
{
    const std::vector<std::uint8_t> copy = image.pixels;
    std::vector<std::uint32_t> sums;
    boxBlurLine(copy.data(), image.pixels.data(), image.height,
                static_cast<std::size_t>(image.width * image.channels), box, sums);
}

struct Parsed {
    std::string kind;
    double value = 0;
};

std::optional<Parsed> parse(const std::string& name)
{
    for (const char* kind : {"blur", "down", "jpeg", "occlude"}) {
        if (!name.starts_with(kind))
            continue;
        const std::string number = name.substr(std::string(kind).size());
        Parsed parsed{kind, 0};
        const char* end = number.data() + number.size();
        const auto [stop, error] = std::from_chars(number.data(), end, parsed.value);
        if (error != std::errc() || stop != end)
            return std::nullopt;
        const bool isWhole = parsed.value == std::floor(parsed.value);
        const double low = parsed.kind == "down" ? 2 : parsed.kind == "jpeg" ? 1 : 0;
        const double high = parsed.kind == "occlude" ? 1 : parsed.kind == "jpeg" ? 100 : 1000;
        const bool isAllowed = parsed.kind == "down" || parsed.kind == "jpeg"
                                   ? isWhole && parsed.value >= low && parsed.value <= high
                                   : parsed.value > low && parsed.value <= high;
        return isAllowed ? std::optional(parsed) : std::nullopt;
    }
    return std::nullopt;
}

} // namespace

Image gaussianBlurred(const Image& image, double radius)
{
    expects(radius >= 0 && radius <= 1000, "gaussianBlurred: a radius of 0 to 1000 px");
    Image result = image;
    if (radius == 0)
        return result;
    constexpr int kPasses = 3;
    const Box box(boxRadius(static_cast<float>(radius), kPasses));
    for (int pass = 0; pass < kPasses; ++pass)
        blurRows(result, box);
    for (int pass = 0; pass < kPasses; ++pass)
        blurColumns(result, box);
    return result;
}

Image downUpSampled(const Image& image, int factor)
{
    expects(factor >= 1, "downUpSampled: a factor of 1 or more");
    const Image small = resized(image, std::max(1, image.width / factor),
                                std::max(1, image.height / factor), Filter::Bilinear);
    return resized(small, image.width, image.height, Filter::Bilinear);
}

Image jpegCompressed(const Image& image, int quality)
{
    return decodeJpeg(encodeJpeg(image, quality), "a compressed copy");
}

Image occluded(const Image& image, double share, std::uint64_t seed, std::uint32_t maskId)
{
    expects(share > 0 && share <= 1, "occluded: a share above 0, at most 1");
    constexpr std::uint8_t kGrey = 128;
    const double area = share * image.width * image.height;
    const int side = static_cast<int>(std::lround(std::sqrt(area)));
    // Where a square does not fit, it becomes a rectangle of the same area.
    const int height =
        std::clamp(side <= image.width ? side : static_cast<int>(std::lround(area / image.width)),
                   1, image.height);
    const int width = std::clamp(static_cast<int>(std::lround(area / height)), 1, image.width);
    Draws draws(seed, Purpose::Degradation, maskId);
    const auto x =
        static_cast<int>(draws.below(static_cast<std::uint32_t>(image.width - width + 1)));
    const auto y =
        static_cast<int>(draws.below(static_cast<std::uint32_t>(image.height - height + 1)));
    Image result = image;
    for (int row = y; row < y + height; ++row)
        std::fill_n(result.row(row) + x * image.channels, width * image.channels, kGrey);
    return result;
}

bool isDegradation(const std::string& name)
{
    return name == "none" || parse(name).has_value();
}

Image degraded(const Image& image, const std::string& degradation, std::uint64_t seed,
               std::uint32_t maskId)
{
    if (degradation == "none")
        return image;
    const auto parsed = parse(degradation);
    expects(parsed.has_value(),
            fmt::format("degraded: \"{}\" is none of none, blur<radius>, down<factor>, "
                        "jpeg<quality>, occlude<share>",
                        degradation));
    if (parsed->kind == "blur")
        return gaussianBlurred(image, parsed->value);
    if (parsed->kind == "down")
        return downUpSampled(image, static_cast<int>(parsed->value));
    if (parsed->kind == "jpeg")
        return jpegCompressed(image, static_cast<int>(parsed->value));
    return occluded(image, parsed->value, seed, maskId);
}

} // namespace vergence::mc_embedding
