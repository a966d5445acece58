#include "plugins/sugar/surface/front_splats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include "plugins/sugar/compute/alignment/density_field_math.h"
#include "plugins/sugar/compute/blend_math.h"
#include "plugins/sugar/compute/camera_view.h"

namespace vergence::sugar {

namespace {

constexpr int kTile = 16;
constexpr std::size_t kChunk = 4096;
constexpr double kFarthestPeak = 3; ///< standard deviations along the ray

} // namespace

GaussianCloud downloadShapes(Stream& stream, const Gaussians& gaussians)
{
    Gaussians shapes = gaussians;
    shapes.value.shRest = {};
    return download(stream, shapes);
}

FrontSplats::FrontSplats(const GaussianCloud& cloud, const Camera& camera,
                         const RasterSettings& settings)
    : m_cloud(&cloud),
      m_camera(camera),
      m_tilesWide((camera.width + kTile - 1) / kTile),
      m_tilesHigh((camera.height + kTile - 1) / kTile)
{
    project(settings);
    fillTiles();
}

void FrontSplats::project(const RasterSettings& settings)
{
    const auto view = cameraView<float>(m_camera, settings.near, settings.far);
    const auto filter = screenFilter<float>(settings.mip);
    const auto splatOf = [&](std::size_t i) -> std::optional<Splat> {
        RawGaussian<float> raw{};
        std::copy_n(&m_cloud->position[3 * i], 3, raw.position);
        std::copy_n(&m_cloud->logScale[3 * i], 3, raw.logScale);
        std::copy_n(&m_cloud->rotation[4 * i], 4, raw.rotation);
        raw.opacity = m_cloud->opacity[i];
        raw.filter = m_cloud->filter.empty() ? 0.0F : m_cloud->filter[i];
        const Projection<float> p = vergence::sugar::project<float>(view, filter, raw);
        if (!(p.depth > view.near && p.depth < view.far && p.determinant > 0 &&
              std::isfinite(p.determinant) && std::isfinite(p.inverseNorm) &&
              p.opacity >= static_cast<float>(kAlphaCut)))
            return std::nullopt;
        const float tau = std::log(p.opacity / static_cast<float>(kAlphaCut));
        const float reachU = std::sqrt(2 * tau * p.a), reachV = std::sqrt(2 * tau * p.c);
        if (!(p.u + reachU > 0 && p.u - reachU < static_cast<float>(m_camera.width) &&
              p.v + reachV > 0 && p.v - reachV < static_cast<float>(m_camera.height)))
            return std::nullopt;
        return Splat{p.u,       p.v,     p.conicA, p.conicB, p.conicC,
                     p.opacity, p.depth, reachU,   reachV,   static_cast<std::uint32_t>(i)};
    };
    const auto count = static_cast<std::size_t>(m_cloud->count());
    std::vector<std::vector<Splat>> chunks((count + kChunk - 1) / kChunk);
    tbb::parallel_for(std::size_t{0}, chunks.size(), [&](std::size_t chunk) {
        for (std::size_t i = chunk * kChunk; i < std::min((chunk + 1) * kChunk, count); ++i) {
            if (const auto splat = splatOf(i))
                chunks[chunk].push_back(*splat);
        }
    });
    for (const auto& chunk : chunks)
        m_splats.insert(m_splats.end(), chunk.begin(), chunk.end());
    tbb::parallel_sort(m_splats.begin(), m_splats.end(), [](const Splat& a, const Splat& b) {
        return std::tie(a.depth, a.gaussian) < std::tie(b.depth, b.gaussian);
    });
}

void FrontSplats::fillTiles()
{
    const auto forEachTile = [&](const Splat& splat, const auto& body) {
        const auto tileOf = [](float x, int tiles) {
            return std::clamp(static_cast<int>(std::floor(x / kTile)), 0, tiles - 1);
        };
        const int left = tileOf(splat.u - splat.reachU, m_tilesWide),
                  right = tileOf(splat.u + splat.reachU, m_tilesWide);
        for (int row = tileOf(splat.v - splat.reachV, m_tilesHigh);
             row <= tileOf(splat.v + splat.reachV, m_tilesHigh); ++row) {
            for (int column = left; column <= right; ++column)
                body(static_cast<std::size_t>(row * m_tilesWide + column));
        }
    };
    m_first.assign(static_cast<std::size_t>(m_tilesWide * m_tilesHigh) + 1, 0);
    for (const Splat& splat : m_splats)
        forEachTile(splat, [&](std::size_t tile) { ++m_first[tile + 1]; });
    std::partial_sum(m_first.begin(), m_first.end(), m_first.begin());
    m_entries.resize(m_first.back());
    std::vector<std::uint32_t> at(m_first.begin(), m_first.end() - 1);
    for (std::uint32_t i = 0; i < m_splats.size(); ++i)
        forEachTile(m_splats[i], [&](std::size_t tile) { m_entries[at[tile]++] = i; });
}

std::optional<FrontHit> FrontSplats::at(std::uint32_t pixel) const
{
    const auto width = static_cast<std::uint32_t>(m_camera.width);
    const std::uint32_t column = pixel % width, row = pixel / width;
    const std::size_t tile =
        static_cast<std::size_t>(row / kTile) * static_cast<std::size_t>(m_tilesWide) +
        column / kTile;
    const float x = static_cast<float>(column) + 0.5F, y = static_cast<float>(row) + 0.5F;
    const auto cut = static_cast<float>(kAlphaCut);
    float transmittance = 1, most = 0;
    const Splat* front = nullptr;
    for (std::uint32_t entry = m_first[tile]; entry < m_first[tile + 1] && transmittance > most;
         ++entry) {
        const Splat& splat = m_splats[m_entries[entry]];
        const AlphaSample<float> sample = alphaAt(splat.conicA, splat.conicB, splat.conicC,
                                                  splat.opacity, splat.u - x, splat.v - y, cut);
        if (sample.isSkipped)
            continue;
        if (sample.alpha * transmittance > most) {
            most = sample.alpha * transmittance;
            front = &splat;
        }
        transmittance *= 1 - sample.alpha;
    }
    if (!front)
        return std::nullopt;
    return FrontHit{front->gaussian, peakDepth(front->gaussian, pixel)};
}

/// Where the density of a Gaussian is greatest along the ray of a pixel, not too far from its
/// centre. Source: RaDe-GS (2024), section 3.2.
float FrontSplats::peakDepth(std::uint32_t gaussian, std::uint32_t pixel) const
{
    const std::size_t i = gaussian;
    double position[3], logScale[3], rotation[4];
    std::copy_n(&m_cloud->position[3 * i], 3, position);
    std::copy_n(&m_cloud->logScale[3 * i], 3, logScale);
    std::copy_n(&m_cloud->rotation[4 * i], 4, rotation);
    const double filter = m_cloud->filter.empty() ? 0.0 : m_cloud->filter[i];
    const FieldGaussian<double> g(position, logScale, rotation, m_cloud->opacity[i], filter);

    const auto width = static_cast<std::uint32_t>(m_camera.width);
    const double inCamera[3] = {(pixel % width + 0.5 - m_camera.cx) / m_camera.fx,
                                (pixel / width + 0.5 - m_camera.cy) / m_camera.fy, 1};
    const auto centre = m_camera.centre();
    double ray[3] = {}, offset[3], along = 0, squares = 0;
    for (std::size_t k = 0; k < 3; ++k) {
        for (std::size_t row = 0; row < 3; ++row)
            ray[k] += m_camera.rotation[3 * row + k] * inCamera[row];
        offset[k] = g.position[k] - centre[k];
        along += ray[k] * offset[k];
        squares += ray[k] * ray[k];
    }
    double numerator = 0, denominator = 0, spread = 0;
    for (int axis = 0; axis < 3; ++axis) {
        double rayHere = 0, offsetHere = 0;
        for (int row = 0; row < 3; ++row) {
            rayHere += g.rotation[3 * row + axis] * ray[row];
            offsetHere += g.rotation[3 * row + axis] * offset[row];
        }
        const double precision = 1 / (g.scale[axis] * g.scale[axis]);
        numerator += precision * rayHere * offsetHere;
        denominator += precision * rayHere * rayHere;
        spread += g.scale[axis] * g.scale[axis] * rayHere * rayHere;
    }
    // The ray has the z component 1 in camera axes, so that its parameter is the depth.
    const double closest = along / squares, reach = kFarthestPeak * std::sqrt(spread) / squares;
    return static_cast<float>(
        std::clamp(numerator / denominator, closest - reach, closest + reach));
}

} // namespace vergence::sugar
