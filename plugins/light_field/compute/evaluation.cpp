#include "plugins/light_field/compute/evaluation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace vergence::light_field {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr int kRadius = 5;

std::array<double, 2 * kRadius + 1> gaussianWindow()
{
    std::array<double, 2 * kRadius + 1> window{};
    double sum = 0;
    for (int i = -kRadius; i <= kRadius; ++i)
        sum += window[static_cast<std::size_t>(i + kRadius)] = std::exp(-i * i / (2 * 1.5 * 1.5));
    for (double& value : window)
        value /= sum;
    return window;
}

/// Convolution with the window along both axes, zero outside the image.
std::vector<double> blurred(const std::vector<double>& image, int height, int width)
{
    static const auto window = gaussianWindow();
    std::vector<double> along(image.size()), across(image.size(), 0.0);
    for (int i = 0; i < height; ++i) {
        const double* row = &image[static_cast<std::size_t>(i) * static_cast<std::size_t>(width)];
        for (int j = 0; j < width; ++j) {
            double sum = 0;
            for (int n = std::max(0, j - kRadius); n <= std::min(width - 1, j + kRadius); ++n)
                sum += window[static_cast<std::size_t>(n - j + kRadius)] * row[n];
            along[static_cast<std::size_t>(i) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(j)] = sum;
        }
    }
    for (int i = 0; i < height; ++i) {
        double* out = &across[static_cast<std::size_t>(i) * static_cast<std::size_t>(width)];
        for (int n = std::max(0, i - kRadius); n <= std::min(height - 1, i + kRadius); ++n) {
            const double weight = window[static_cast<std::size_t>(n - i + kRadius)];
            const double* row =
                &along[static_cast<std::size_t>(n) * static_cast<std::size_t>(width)];
            for (int j = 0; j < width; ++j)
                out[j] += weight * row[j];
        }
    }
    return across;
}

bool isInside(std::span<const float> mask, std::size_t i)
{
    return mask.empty() || mask[i] > 0;
}

double clampUnit(float value)
{
    return std::clamp<double>(value, 0.0, 1.0);
}

/// Sums of squared differences.
struct SquaredError {
    double all = 0, roi = 0, unclamped = 0;
    double count = 0, roiCount = 0;

    void add(const SquaredError& other)
    {
        all += other.all;
        roi += other.roi;
        unclamped += other.unclamped;
        count += other.count;
        roiCount += other.roiCount;
    }
};

double decibel(double sum, double count)
{
    return count == 0 ? kNothing : sum == 0 ? HUGE_VAL : -10 * std::log10(sum / count);
}

SquaredError squaredError(std::span<const float> image, std::span<const float> target,
                          std::span<const float> mask)
{
    SquaredError error;
    for (std::size_t i = 0; i < image.size(); ++i) {
        const double raw = static_cast<double>(image[i]) - static_cast<double>(target[i]);
        const double difference = clampUnit(image[i]) - static_cast<double>(target[i]);
        error.all += difference * difference;
        error.unclamped += raw * raw;
        error.count += 1;
        if (isInside(mask, i)) {
            error.roi += difference * difference;
            error.roiCount += 1;
        }
    }
    return error;
}

/// Rec. 709 luminance of three channels, or the one channel.
std::vector<float> luminance(const std::vector<std::vector<float>>& channels)
{
    if (channels.size() != 3)
        return channels.front();
    std::vector<float> values(channels.front().size());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.2126f * channels[0][i] + 0.7152f * channels[1][i] + 0.0722f * channels[2][i];
    return values;
}

void clampAll(std::vector<float>& values)
{
    for (float& value : values)
        value = std::clamp(value, 0.0f, 1.0f);
}

/// Mean of the values that are numbers.
double meanOf(const std::vector<double>& values)
{
    double sum = 0;
    int count = 0;
    for (const double value : values) {
        if (!std::isnan(value)) {
            sum += value;
            ++count;
        }
    }
    return count > 0 ? sum / count : kNothing;
}

} // namespace

double psnr(std::span<const float> image, std::span<const float> target,
            std::span<const float> mask)
{
    expects(image.size() == target.size() && (mask.empty() || mask.size() == image.size()),
            "psnr: image, target and mask must have the same size");
    const SquaredError error = squaredError(image, target, mask);
    return decibel(error.roi, error.roiCount);
}

double ssim(std::span<const float> image, std::span<const float> target, int height, int width,
            std::span<const float> mask)
{
    const auto pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    expects(height > 0 && width > 0 && image.size() == pixels && target.size() == pixels &&
                (mask.empty() || mask.size() == pixels),
            "ssim: image, target and mask must be height × width");
    const std::vector<double> a(image.begin(), image.end()), b(target.begin(), target.end());
    std::vector<double> aa(pixels), bb(pixels), ab(pixels);
    for (std::size_t i = 0; i < pixels; ++i) {
        aa[i] = a[i] * a[i];
        bb[i] = b[i] * b[i];
        ab[i] = a[i] * b[i];
    }
    const auto meanA = blurred(a, height, width), meanB = blurred(b, height, width);
    const auto meanAa = blurred(aa, height, width), meanBb = blurred(bb, height, width);
    const auto meanAb = blurred(ab, height, width);
    constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < pixels; ++i) {
        if (!isInside(mask, i))
            continue;
        const double varianceA = meanAa[i] - meanA[i] * meanA[i],
                     varianceB = meanBb[i] - meanB[i] * meanB[i];
        const double covariance = meanAb[i] - meanA[i] * meanB[i];
        sum += (2 * meanA[i] * meanB[i] + kC1) * (2 * covariance + kC2) /
               ((meanA[i] * meanA[i] + meanB[i] * meanB[i] + kC1) * (varianceA + varianceB + kC2));
        count += 1;
    }
    return count > 0 ? sum / count : kNothing;
}

double contrastTransfer(std::span<const float> image, std::span<const float> target, int height,
                        int width, std::span<const float> mask)
{
    const auto pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    expects(image.size() == pixels && target.size() == pixels &&
                (mask.empty() || mask.size() == pixels),
            "contrastTransfer: image, target and mask must be height × width");
    double sum[2] = {0, 0}, targetSum[2] = {0, 0}, count[2] = {0, 0};
    for (int i = 1; i + 1 < height; ++i) {
        for (int j = 1; j + 1 < width; ++j) {
            bool white = true, black = true;
            for (int n = 0; n < 9; ++n) {
                const auto at = static_cast<std::size_t>((i + n / 3 - 1) * width + j + n % 3 - 1);
                white = white && target[at] > 0.95f && isInside(mask, at);
                black = black && target[at] < 0.05f && isInside(mask, at);
            }
            if (!white && !black)
                continue;
            const auto at = static_cast<std::size_t>(i * width + j);
            sum[white] += clampUnit(image[at]);
            targetSum[white] += static_cast<double>(target[at]);
            count[white] += 1;
        }
    }
    if (count[0] == 0 || count[1] == 0)
        return kNothing;
    return (sum[1] / count[1] - sum[0] / count[0]) /
           (targetSum[1] / count[1] - targetSum[0] / count[0]);
}

Quality measureQuality(Stream& stream, const Tensor& images, const Targets& targets, int first,
                       int channels, bool withStructure)
{
    expects(images.size() == targets.radiance.size(),
            "measureQuality: images and targets must have the same shape");
    expects(first >= 0 && (channels == 1 || channels == 3) && first + channels <= targets.channels,
            "measureQuality: no such lanes");
    Quality quality;
    SquaredError total;
    std::vector<double> structure, contrast;
    const Tensor shaped = images.reshaped(targets.radiance.shape());
    const int w = targets.resolution();
    for (int state = 0; state < targets.states(); ++state) {
        const std::vector<float> mask = targets.roi.slice(state).toHost<float>(stream);
        SquaredError error;
        std::vector<std::vector<float>> image, target;
        for (int c = first; c < first + channels; ++c) {
            image.push_back(laneToHost(stream, shaped, state, c));
            target.push_back(laneToHost(stream, targets.radiance, state, c));
            error.add(squaredError(image.back(), target.back(), mask));
            clampAll(image.back());
        }
        quality.statePsnrRoi.push_back(decibel(error.roi, error.roiCount));
        total.add(error);
        if (withStructure) {
            const auto a = luminance(image), b = luminance(target);
            structure.push_back(ssim(a, b, w, w, mask));
            contrast.push_back(contrastTransfer(a, b, w, w, mask));
        }
    }
    quality.mse = total.unclamped / total.count;
    quality.psnr = decibel(total.all, total.count);
    quality.psnrRoi = decibel(total.roi, total.roiCount);
    quality.ssim = meanOf(structure);
    quality.contrast = meanOf(contrast);
    return quality;
}

Evaluator::Evaluator(std::shared_ptr<const LinearOperator> op, Targets targets)
    : m_operator(std::move(op)),
      m_targets(std::move(targets))
{
    expects(m_operator != nullptr && m_targets.states() == m_operator->states() &&
                m_targets.resolution() == m_operator->resolution(),
            "Evaluator: the targets must have the states and the resolution of the operator");
    m_images = Tensor::empty(m_operator->device(), m_targets.radiance.shape());
}

Quality Evaluator::evaluate(Stream& stream, const Tensor& planes, int first, int channels,
                            bool withStructure)
{
    m_operator->forward(stream, m_operator->gatherPlanes(stream, planes), m_images);
    return measureQuality(stream, m_images, m_targets, first, channels, withStructure);
}

} // namespace vergence::light_field
