#include "plugins/sugar/pipeline/surface_forecast.h"

#include <algorithm>
#include <cmath>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/pipeline/surface_settings.h"
#include "plugins/sugar/surface/block_grid.h"

namespace vergence::sugar {

namespace {

constexpr double kFloat = 4;

// Bytes of one.
constexpr double kPoint = 2 * 3 * kFloat + 3 + 1; ///< SurfacePoints
/// Gathered, of good normals and of no outliers; or kept, moved back and packed.
constexpr double kPointCopies = 3;
/// Position, scale, rotation, opacity, dc and filter; lobe; position and place in the tree.
constexpr double kFieldGaussian = 15 * kFloat + 14 * kFloat + 3 * kFloat + 8;
/// Colour, transmittance, contributors, depth and normal of the rasteriser; the last four on the
/// host; the view; tickets of pixels.
constexpr double kViewPixel = 36 + 32 + 23 + 8;
constexpr double kPlainPixel = 20; ///< of a picture without depth and gradients
/// Mesh, quadrics, corners and queue while edges collapse.
constexpr double kCollapsingTriangle = 250;
/// Mesh with coordinates of its texture, with the copies of it that are written.
constexpr double kTexturedTriangle = 200;
/// Tables of neighbours, first normals, gradients of corners.
constexpr double kBoundTriangle = 150;
/// Owner and place in the owner's list, picture, whether seen; and sums of one sweep.
constexpr double kTexel = 4 + 4 + 3 + 1, kTexelSum = 4 * kFloat;
constexpr double kGifShare = 0.2; ///< of the bytes of its frames, in a buffer that doubles

// As measured on the built-in scene.
constexpr double kSurfaceTriangles = 0.9; ///< of 4^depth of a grid
constexpr double kSurfaceBlocks = 4;      ///< of 4^(depth − 3): blocks near the surface
constexpr double kChartTexels = 12;       ///< texels of charts over the pixels of a picture

double real(Index value)
{
    return static_cast<double>(value);
}

class LaterForecasts {
public:
    LaterForecasts(const SugarConfig& config, const PictureSource& pictures,
                   const MemoryQuestion& learning)
        : m_config(config),
          m_pictures(pictures),
          m_learning(learning),
          m_pixels(real(learning.width * learning.height)),
          m_numbers(14 + 3.0 * restCoefficients(learning.degree))
    {
        const double drawn = real(static_cast<Index>(pictures.count())) * m_pixels *
                             config.surfaceScale * config.surfaceScale;
        m_points = kPoint * std::min(real(config.surfacePoints), drawn);
        const double wanted =
            real(config.triangles) * (1 + (config.meshBackground ? config.trianglesBackground : 0));
        m_triangles = std::min(wanted, kSurfaceTriangles * cells());
    }

    std::vector<StageForecast> all() const
    {
        std::vector<StageForecast> stages;
        const bool hasMesh = m_config.goal != "gaussians" && m_config.goal != "aligned";
        const bool hasTexture = m_config.goal == "texture";
        if (hasMesh) {
            stages.push_back({"S5", points()});
            stages.push_back({"S6", mesh()});
        }
        if ((m_config.goal == "refined" || hasTexture) && m_config.refineSteps > 0)
            stages.push_back({"S7", refinement()});
        if (hasTexture)
            stages.push_back({"S8", texture()});
        stages.push_back({"Results", results(hasMesh, hasTexture)});
        return stages;
    }

private:
    bool fuses() const { return solverOf(m_config) == "tsdf"; }
    /// Voxels across a region, squared.
    double cells() const
    {
        const int depth =
            solverOf(m_config) == "poisson" ? m_config.poissonDepth : m_config.gridDepth;
        return std::pow(4.0, depth);
    }

    /// Gaussians of the newest stage, kept on the host, and `more` copies of them.
    double clouds(double count, double more) const
    {
        return (1 + more) * (m_numbers + 1) * kFloat * count;
    }
    double gaussians() const { return real(m_learning.gaussians); }
    double bound() const { return m_triangles * m_config.refinePerTriangle; }
    /// Those that are left at the end.
    double shown(bool hasTexture) const
    {
        return hasTexture && m_config.refineSteps > 0 ? bound() : gaussians();
    }
    double pairs(double count, double width, double height) const
    {
        return real(
            expectedInstances(std::llround(count), std::llround(width), std::llround(height)));
    }
    double listBytes(double count) const
    {
        return 4 * pairs(count, real(m_learning.width), real(m_learning.height));
    }

    MemoryForecast with(std::vector<MemoryPart> parts) const
    {
        parts.push_back({"Photographs", m_learning.photographs});
        parts.push_back({"Runtime", m_learning.hostRuntime});
        std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
        return {std::move(parts)};
    }

    MemoryForecast points() const
    {
        const double each = projectedBytes() + kFieldGaussian + 4.0 * m_config.neighbours;
        const double scale = m_config.surfaceScale * m_config.surfaceScale;
        return with({{"Gaussians", clouds(gaussians(), 1) + each * gaussians()},
                     {"Pixels", kViewPixel * m_pixels * scale},
                     {"Instances", listBytes(gaussians())},
                     {"Points", kPointCopies * m_points}});
    }

    /// Poisson reconstruction is another process.
    MemoryForecast mesh() const
    {
        const double volume = kSurfaceBlocks * cells() / (kBlockSide * kBlockSide) * kBlockNodes *
                              2 * kFloat * (m_config.meshBackground ? 2 : 1);
        return with({{"Gaussians", clouds(gaussians(), fuses() ? 1 : 0) +
                                       (fuses() ? projectedBytes() * gaussians() : 0)},
                     {"Pixels", fuses() ? kViewPixel * m_pixels : 0},
                     {"Points", m_points},
                     {"Voxels", fuses() ? volume : 0},
                     {"Mesh", kCollapsingTriangle * kSurfaceTriangles * cells()}});
    }

    MemoryForecast refinement() const
    {
        const double vertices = m_triangles / 2;
        // Opacity, two scales, turn, colour; without position.
        const double numbers = m_numbers - 6;
        const double values = kFloat * (numbers * bound() + 3 * vertices);
        const double placed = 2 * 10 * kFloat * bound(); // and their gradients
        MemoryQuestion pass = m_learning;
        pass.gaussians = std::llround(bound());
        pass.filter = false;
        pass.instances = expectedInstances(pass.gaussians, pass.width, pass.height);
        const MemoryForecast learner = learnerMemory(pass);
        return with({{"Gaussians", 4 * values + placed + projectedBytes() * bound()},
                     {"Mesh", kBoundTriangle * m_triangles},
                     {"Earlier Gaussians", clouds(gaussians(), 0)},
                     {"Pixels", learner.bytesOf("Pixels")},
                     {"Instances", learner.bytesOf("Instances")},
                     {"Bands", learner.bytesOf("Bands")},
                     {"Points", m_points},
                     {"Checkpoint", std::max(3 * values, clouds(bound(), 1))}});
    }

    double texels() const
    {
        const double side = m_config.textureSide;
        if (m_config.texturePacking == "charts")
            return std::min(kChartTexels * m_pixels, side * side);
        return std::min(m_triangles / 2 * std::pow(m_config.textureSquare, 2), side * side);
    }

    MemoryForecast texture() const
    {
        const double sweeps = m_config.textureRobust ? 2 : 1;
        const double count = m_config.refineSteps > 0 ? bound() : gaussians();
        return with({{"Gaussians", clouds(count, 1) + projectedBytes() * count},
                     {"Pixels", (kPlainPixel + 4 + 3) * m_pixels},
                     {"Instances", listBytes(count)},
                     {"Points", m_points},
                     {"Mesh", kTexturedTriangle * m_triangles},
                     {"Texture", (kTexel + sweeps * kTexelSum) * texels()}});
    }

    /// All frames of a turntable are held until they are a GIF, beside the Gaussians as they are
    /// kept and as they are drawn.
    MemoryForecast results(bool hasMesh, bool hasTexture) const
    {
        double width = 0, height = 0;
        if (m_pictures.count() > 0 && m_config.turntableFrames > 0) {
            const Camera& like = m_pictures.cameras().front();
            const double scale =
                static_cast<double>(m_config.turntableSize) / std::max(like.width, like.height);
            width = scale * like.width;
            height = scale * like.height;
        }
        const double count = shown(hasTexture), frame = width * height;
        return with({{"Gaussians", clouds(count, 1) + projectedBytes() * count},
                     {"Pixels", kPlainPixel * std::max(frame, m_pixels)},
                     {"Instances", 4 * pairs(count, width, height)},
                     {"Points", hasMesh ? m_points : 0},
                     {"Mesh", hasMesh ? kTexturedTriangle * m_triangles : 0},
                     {"Texture", hasTexture ? 3 * texels() : 0},
                     {"Turntable", (1 + kGifShare) * 3 * m_config.turntableFrames * frame}});
    }

    const SugarConfig& m_config;
    const PictureSource& m_pictures;
    const MemoryQuestion& m_learning;
    double m_pixels;
    double m_numbers; ///< parameters of a Gaussian
    double m_points;  ///< bytes
    double m_triangles;
};

} // namespace

std::vector<StageForecast> laterForecasts(const SugarConfig& config, const PictureSource& pictures,
                                          const MemoryQuestion& learning)
{
    return LaterForecasts(config, pictures, learning).all();
}

} // namespace vergence::sugar
