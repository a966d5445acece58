#include "plugins/live_diffusion/quality/frame_quality.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"

namespace vergence::live {

namespace {

constexpr std::size_t kLanes = 8;

/// Σ term(i), partial sums side by side.
template <class Term>
double sumOver(std::size_t count, Term term)
{
    double lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::size_t k = 0; k < kLanes; ++k)
            lanes[k] += term(i + k);
    }
    for (; i < count; ++i)
        lanes[0] += term(i);
    double sum = 0;
    for (const double lane : lanes)
        sum += lane;
    return sum;
}

void expectsAlike(std::span<const float> a, std::span<const float> b)
{
    expects(a.size() == b.size() && !a.empty() && a.size() % 3 == 0,
            "pictures that are compared have three planes of one size");
}

double mean(std::span<const float> values)
{
    return sumOver(values.size(), [&](std::size_t i) { return static_cast<double>(values[i]); }) /
           static_cast<double>(values.size());
}

double deviation(std::span<const float> values)
{
    const double centre = mean(values);
    const double squares = sumOver(values.size(), [&](std::size_t i) {
        const double d = static_cast<double>(values[i]) - centre;
        return d * d;
    });
    return std::sqrt(squares / static_cast<double>(values.size()));
}

double ratio(double a, double b)
{
    return a == b ? 1 : a / b;
}

} // namespace

double meanSquaredError(std::span<const float> picture, std::span<const float> target)
{
    expectsAlike(picture, target);
    return sumOver(picture.size(),
                   [&](std::size_t i) {
                       const double d =
                           static_cast<double>(picture[i]) - static_cast<double>(target[i]);
                       return d * d;
                   }) /
           static_cast<double>(picture.size());
}

double psnrOfError(double error)
{
    return error == 0 ? kMostPsnr : std::min(10 * std::log10(4 / error), kMostPsnr);
}

double psnr(std::span<const float> picture, std::span<const float> target)
{
    return psnrOfError(meanSquaredError(picture, target));
}

double meanColourDistance(std::span<const float> picture, std::span<const float> target)
{
    expectsAlike(picture, target);
    const std::size_t plane = picture.size() / 3;
    double squares = 0;
    for (std::size_t colour = 0; colour < 3; ++colour) {
        const double d = mean(picture.subspan(colour * plane, plane)) -
                         mean(target.subspan(colour * plane, plane));
        squares += d * d;
    }
    return std::sqrt(squares);
}

double contrastRatio(std::span<const float> picture, std::span<const float> target)
{
    expectsAlike(picture, target);
    return ratio(deviation(picture), deviation(target));
}

double meanGradient(std::span<const float> picture, int height, int width)
{
    expects(height > 1 && width > 1 &&
                static_cast<Index>(picture.size()) == Index{3} * height * width,
            "meanGradient: three planes of at least 2×2 pixels");
    double sum = 0;
    for (Index row = 0; row < Index{3} * height; ++row) {
        if (row % height == height - 1)
            continue;
        const float* here = picture.data() + row * width;
        const float* below = here + width;
        sum += sumOver(static_cast<std::size_t>(width) - 1, [&](std::size_t x) {
            const double dx = static_cast<double>(here[x + 1] - here[x]);
            const double dy = static_cast<double>(below[x] - here[x]);
            return std::sqrt(dx * dx + dy * dy);
        });
    }
    return sum / (3.0 * (height - 1) * (width - 1));
}

double detailRatio(std::span<const float> picture, std::span<const float> target, int height,
                   int width)
{
    return ratio(meanGradient(picture, height, width), meanGradient(target, height, width));
}

double temporalError(std::span<const float> picture, std::span<const float> before,
                     std::span<const float> target, std::span<const float> targetBefore)
{
    expectsAlike(picture, target);
    expectsAlike(picture, before);
    expectsAlike(picture, targetBefore);
    return sumOver(picture.size(),
                   [&](std::size_t i) {
                       return std::abs(static_cast<double>(picture[i] - before[i]) -
                                       static_cast<double>(target[i] - targetBefore[i]));
                   }) /
           static_cast<double>(picture.size());
}

} // namespace vergence::live
