#include "plugins/live_diffusion/scenes/degradation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/live_diffusion/diffusion/noise.h"

namespace vergence::live {

namespace {

constexpr int kBlock = 8;
using Block = std::array<std::array<double, kBlock>, kBlock>;

/// Rows: orthonormal cosines. Source: Discrete Cosine Transform (1974).
const Block& cosines()
{
    static const Block table = [] {
        Block c;
        for (int k = 0; k < kBlock; ++k) {
            for (int n = 0; n < kBlock; ++n)
                c[static_cast<std::size_t>(k)][static_cast<std::size_t>(n)] =
                    std::sqrt((k == 0 ? 1.0 : 2.0) / kBlock) *
                    std::cos(std::numbers::pi * (n + 0.5) * k / kBlock);
        }
        return c;
    }();
    return table;
}

/// a·b·aᵀ, or aᵀ·b·a.
Block transformed(const Block& a, const Block& b, bool isInverse)
{
    const auto at = [&](std::size_t i, std::size_t j) { return isInverse ? a[j][i] : a[i][j]; };
    Block half{}, whole{};
    for (std::size_t i = 0; i < kBlock; ++i) {
        for (std::size_t j = 0; j < kBlock; ++j) {
            for (std::size_t k = 0; k < kBlock; ++k)
                half[i][j] += at(i, k) * b[k][j];
        }
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
        for (std::size_t j = 0; j < kBlock; ++j) {
            for (std::size_t k = 0; k < kBlock; ++k)
                whole[i][j] += half[i][k] * at(j, k);
        }
    }
    return whole;
}

/// Coefficients of each block in steps of 0.1·(1 + row + column): what strong compression leaves.
/// Blocks at the border read its pixels again.
void quantiseBlocks(int height, int width, float* plane)
{
    for (int top = 0; top < height; top += kBlock) {
        for (int left = 0; left < width; left += kBlock) {
            const auto pixel = [&](std::size_t i, std::size_t j) -> float& {
                const Index y = std::min(top + static_cast<int>(i), height - 1);
                const Index x = std::min(left + static_cast<int>(j), width - 1);
                return plane[y * width + x];
            };
            Block block;
            for (std::size_t i = 0; i < kBlock; ++i) {
                for (std::size_t j = 0; j < kBlock; ++j)
                    block[i][j] = static_cast<double>(pixel(i, j));
            }
            block = transformed(cosines(), block, false);
            for (std::size_t i = 0; i < kBlock; ++i) {
                for (std::size_t j = 0; j < kBlock; ++j) {
                    const double step = 0.1 * static_cast<double>(1 + i + j);
                    block[i][j] = std::round(block[i][j] / step) * step;
                }
            }
            block = transformed(cosines(), block, true);
            const int rows = std::min(kBlock, height - top),
                      columns = std::min(kBlock, width - left);
            for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
                for (std::size_t j = 0; j < static_cast<std::size_t>(columns); ++j)
                    pixel(i, j) = static_cast<float>(block[i][j]);
            }
        }
    }
}

std::vector<float> gaussianWeights(double sigma)
{
    const int reach = static_cast<int>(std::ceil(3 * sigma));
    std::vector<double> weights;
    double sum = 0;
    for (int i = -reach; i <= reach; ++i) {
        weights.push_back(std::exp(-i * i / (2 * sigma * sigma)));
        sum += weights.back();
    }
    std::vector<float> normalised;
    for (const double weight : weights)
        normalised.push_back(static_cast<float>(weight / sum));
    return normalised;
}

} // namespace

Degradation randomDegradation(std::uint32_t seed, std::uint32_t clip)
{
    const FrameNoise noise(seed);
    std::uint32_t next = 0;
    const auto draw = [&] { return noise.uniform(clip, NoisePurpose::Layout, next++); };
    std::array<bool, 3> isUsed{};
    for (bool& used : isUsed)
        used = draw() < 0.3;
    const auto instead = static_cast<std::size_t>(3 * draw());
    if (isUsed == std::array<bool, 3>{})
        isUsed[instead] = true;
    const double blurSigma = 2 * draw(), deviation = 0.15 * draw();
    return {isUsed[0] ? blurSigma : 0, isUsed[1] ? deviation : 0, isUsed[2]};
}

void blur(double sigma, int planes, int height, int width, std::span<float> picture)
{
    expects(sigma > 0 && height > 0 && width > 0, "blur: sigma and extents are positive");
    expects(static_cast<Index>(picture.size()) == Index{planes} * height * width,
            "blur: the picture has another size than said");
    const std::vector<float> weights = gaussianWeights(sigma);
    const int reach = static_cast<int>(weights.size()) / 2;
    std::vector<float> padded(static_cast<std::size_t>(width + 2 * reach));
    std::vector<float> across(static_cast<std::size_t>(height) * static_cast<std::size_t>(width));
    for (int plane = 0; plane < planes; ++plane) {
        float* image = picture.data() + Index{plane} * height * width;
        for (int y = 0; y < height; ++y) {
            const float* row = image + Index{y} * width;
            std::fill_n(padded.begin(), reach, row[0]);
            std::copy_n(row, width, padded.begin() + reach);
            std::fill_n(padded.end() - reach, reach, row[width - 1]);
            float* out = across.data() + Index{y} * width;
            std::fill_n(out, width, 0.0f);
            for (std::size_t k = 0; k < weights.size(); ++k) {
                for (int x = 0; x < width; ++x)
                    out[x] += weights[k] * padded[static_cast<std::size_t>(x) + k];
            }
        }
        for (int y = 0; y < height; ++y) {
            float* out = image + Index{y} * width;
            std::fill_n(out, width, 0.0f);
            for (int k = -reach; k <= reach; ++k) {
                const float* row = across.data() + Index{std::clamp(y + k, 0, height - 1)} * width;
                const float weight = weights[static_cast<std::size_t>(k + reach)];
                for (int x = 0; x < width; ++x)
                    out[x] += weight * row[x];
            }
        }
    }
}

void degrade(Stream& stream, const Degradation& degradation, int height, int width,
             std::uint32_t seed, std::uint32_t frame, std::span<const float> clean,
             std::span<float> spoilt)
{
    const Index plane = Index{height} * width;
    expects(static_cast<Index>(clean.size()) == 3 * plane && spoilt.size() == clean.size(),
            "degrade: pictures of another size than said");
    expects(degradation.blurSigma >= 0 && degradation.noise >= 0,
            "degrade: neither blur nor noise is negative");
    if (spoilt.data() != clean.data())
        std::copy(clean.begin(), clean.end(), spoilt.begin());
    if (degradation.blurSigma > 0)
        blur(degradation.blurSigma, 3, height, width, spoilt);
    if (degradation.noise > 0) {
        std::vector<float> noise(spoilt.size());
        FrameNoise(seed).normals(stream, frame, NoisePurpose::Scene, noise);
        for (std::size_t i = 0; i < spoilt.size(); ++i)
            spoilt[i] += static_cast<float>(degradation.noise) * noise[i];
    }
    if (degradation.quantisesBlocks) {
        for (int colour = 0; colour < 3; ++colour)
            quantiseBlocks(height, width, spoilt.data() + colour * plane);
    }
    for (float& value : spoilt)
        value = std::clamp(value, -1.0f, 1.0f);
}

} // namespace vergence::live
