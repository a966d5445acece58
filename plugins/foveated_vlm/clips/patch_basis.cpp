#include "plugins/foveated_vlm/clips/patch_basis.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

constexpr int kBlock = kPatchBasisBlock, kPixels = kBlock * kBlock, kChannels = 4;
/// What a flat field of 1 projects to, so that its latent is 1.
const float kFlat = static_cast<float>(kBlock * std::numbers::sqrt3);

using Basis = std::array<std::array<float, 3 * kPixels>, kChannels>;

/// Cosine of the first frequency along one direction, orthonormal over a block.
double slope(int place)
{
    return std::sqrt(2.0) / kBlock * std::cos((2 * place + 1) * std::numbers::pi / (2 * kBlock));
}

Basis makeBasis()
{
    const double grey = 1 / std::numbers::sqrt3, flat = 1.0 / kBlock;
    const double redBlue[3] = {1 / std::numbers::sqrt2, 0, -1 / std::numbers::sqrt2};
    const double greenMagenta[3] = {1 / std::sqrt(6.0), -2 / std::sqrt(6.0), 1 / std::sqrt(6.0)};
    Basis basis{};
    for (int c = 0; c < 3; ++c)
        for (int y = 0; y < kBlock; ++y)
            for (int x = 0; x < kBlock; ++x) {
                const auto i = static_cast<std::size_t>((c * kBlock + y) * kBlock + x);
                basis[0][i] = static_cast<float>(grey * flat);
                basis[1][i] = static_cast<float>(redBlue[c] * flat);
                basis[2][i] = static_cast<float>(greenMagenta[c] * flat);
                basis[3][i] =
                    static_cast<float>(grey * (slope(x) + slope(y)) / std::numbers::sqrt2);
            }
    return basis;
}

/// Where pixel (c, y, x) of the block at (row, column) lies in a frame of these extents.
std::size_t pixelAt(int c, int row, int column, int y, int x, int height, int width)
{
    return (static_cast<std::size_t>(c) * static_cast<std::size_t>(height) +
            static_cast<std::size_t>(row * kBlock + y)) *
               static_cast<std::size_t>(width) +
           static_cast<std::size_t>(column * kBlock + x);
}

/// The four projections of one block of a frame, before they are divided by 8√3.
std::array<float, kChannels> project(const std::uint8_t* frame, int row, int column, int height,
                                     int width)
{
    const Basis& basis = patchBasis();
    std::array<float, kChannels> sums{};
    std::size_t i = 0;
    for (int c = 0; c < 3; ++c)
        for (int y = 0; y < kBlock; ++y)
            for (int x = 0; x < kBlock; ++x, ++i) {
                const float value =
                    static_cast<float>(frame[pixelAt(c, row, column, y, x, height, width)]) /
                        127.5f -
                    1;
                for (std::size_t k = 0; k < kChannels; ++k)
                    sums[k] += basis[k][i] * value;
            }
    return sums;
}

} // namespace

const std::array<std::array<float, 192>, 4>& patchBasis()
{
    static const Basis basis = makeBasis();
    return basis;
}

void encodePatchBasis(std::span<const std::uint8_t> frames, int height, int width,
                      const LatentStatistics& statistics, std::span<float> latents)
{
    expects(height >= kBlock && width >= kBlock, "patch basis: frames of at least 8×8 px");
    const std::size_t frameSize =
        std::size_t(3) * static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    const int rows = height / kBlock, columns = width / kBlock;
    const std::size_t area = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    const std::size_t count = frames.size() / frameSize;
    expects(frames.size() == count * frameSize && latents.size() == count * kChannels * area,
            "patch basis: whole frames and room for their latents");
    for (std::size_t f = 0; f < count; ++f)
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column) {
                const auto sums =
                    project(frames.data() + f * frameSize, row, column, height, width);
                for (std::size_t k = 0; k < kChannels; ++k)
                    latents[(f * kChannels + k) * area +
                            static_cast<std::size_t>(row * columns + column)] =
                        (sums[k] / kFlat - statistics.mean[k]) / statistics.deviation[k];
            }
}

std::vector<std::uint8_t> decodePatchBasis(std::span<const float> latents, int height, int width,
                                           const LatentStatistics& statistics)
{
    expects(height > 0 && width > 0, "patch basis: latents of at least 1×1");
    const std::size_t area = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    const std::size_t count = latents.size() / (kChannels * area);
    expects(latents.size() == count * kChannels * area, "patch basis: whole frames of latents");
    const Basis& basis = patchBasis();
    std::vector<std::uint8_t> frames(count * 3 * kPixels * area);
    for (std::size_t f = 0; f < count; ++f)
        for (int row = 0; row < height; ++row)
            for (int column = 0; column < width; ++column) {
                std::array<float, kChannels> sums{};
                for (std::size_t k = 0; k < kChannels; ++k)
                    sums[k] = (latents[(f * kChannels + k) * area +
                                       static_cast<std::size_t>(row * width + column)] *
                                   statistics.deviation[k] +
                               statistics.mean[k]) *
                              kFlat;
                std::uint8_t* frame = frames.data() + f * 3 * kPixels * area;
                std::size_t i = 0;
                for (int c = 0; c < 3; ++c)
                    for (int y = 0; y < kBlock; ++y)
                        for (int x = 0; x < kBlock; ++x, ++i) {
                            float value = 0;
                            for (std::size_t k = 0; k < kChannels; ++k)
                                value += basis[k][i] * sums[k];
                            frame[pixelAt(c, row, column, y, x, height * kBlock, width * kBlock)] =
                                static_cast<std::uint8_t>(
                                    std::clamp(std::round((value + 1) * 127.5f), 0.0f, 255.0f));
                        }
            }
    return frames;
}

LatentStatistics measurePatchBasis(const ClipSource& clips, Index sample)
{
    expects(sample > 0, "patch basis: statistics of at least one clip");
    const Index count = std::min(sample, clips.count());
    const PatchBasisLatents latents(clips, LatentStatistics{});
    const std::array<Index, 3> shape = latents.shape();
    const auto area = static_cast<std::size_t>(shape[1] * shape[2]);
    std::array<double, kChannels> sum{}, squares{};
    double seen = 0;
    std::vector<float> values;
    for (Index i = 0; i < count; ++i) {
        const Index clip = i * clips.count() / count;
        const auto frames = static_cast<std::size_t>(clips.info(clip).frames);
        values.resize(frames * kChannels * area);
        latents.read(clip, values);
        seen += static_cast<double>(frames * area);
        for (std::size_t n = 0; n < values.size(); ++n) {
            const std::size_t k = n / area % kChannels;
            sum[k] += values[n];
            squares[k] += double(values[n]) * values[n];
        }
    }
    LatentStatistics statistics;
    for (std::size_t k = 0; k < kChannels && seen > 0; ++k) {
        const double mean = sum[k] / seen;
        const double deviation = std::sqrt(std::max(0.0, squares[k] / seen - mean * mean));
        statistics.mean[k] = static_cast<float>(mean);
        statistics.deviation[k] = deviation > 1e-6 ? static_cast<float>(deviation) : 1;
    }
    return statistics;
}

PatchBasisLatents::PatchBasisLatents(const ClipSource& clips)
    : PatchBasisLatents(clips, measurePatchBasis(clips))
{
}

PatchBasisLatents::PatchBasisLatents(const ClipSource& clips, const LatentStatistics& statistics)
    : m_clips(clips),
      m_statistics(statistics)
{
}

std::array<Index, 3> PatchBasisLatents::shape() const
{
    return {kChannels, m_clips.height() / kBlock, m_clips.width() / kBlock};
}

void PatchBasisLatents::read(Index clip, std::span<float> out) const
{
    const std::vector<std::uint8_t> frames = framesOf(m_clips, clip);
    encodePatchBasis(frames, m_clips.height(), m_clips.width(), m_statistics, out);
}

} // namespace vergence::fvlm
