#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plugins/sugar/surface/density_field.h"
#include "plugins/sugar/surface/depth_view.h"
#include "plugins/sugar/surface/front_splats.h"

namespace vergence::sugar {

/// Oriented points on level sets of the density, world units.
struct SurfacePoints {
    std::vector<float> position;      ///< [N, 3]
    std::vector<float> normal;        ///< [N, 3] unit, towards the camera that saw the point
    std::vector<std::uint8_t> colour; ///< [N, 3] sRGB
    std::vector<std::uint8_t> level;  ///< [N] index into SurfaceSettings::levels

    Index count() const { return static_cast<Index>(level.size()); }
    void append(const SurfacePoints& more);
    /// The points whose `isKept` [N] is not 0, in order.
    SurfacePoints selected(const std::vector<std::uint8_t>& isKept) const;
    /// Those of one level.
    SurfacePoints ofLevel(std::uint8_t index) const;
};

struct SurfaceSettings {
    Index points = 10'000'000;       ///< pixels over all cameras; a point or none of each a level
    double scale = 1;                ///< size of the pictures drawn, over that of the cameras
    std::vector<float> levels{0.3F}; ///< of density, above 0; at most 8
    std::uint64_t seed = 1;
    /// Moves points from the level set towards the ridge of the density behind it, as far as it is
    /// away in a flat sheet: about s·sqrt(2 ln(ρ/λ)).
    bool centreBias = false;
};

/// How candidates fared, for charts.
struct SurfaceCounts {
    Index candidates = 0; ///< pixels looked at, times levels
    Index inside = 0;     ///< of those, how many began above the level
    Index missed = 0;     ///< and how many met no crossing
};

/// Points where camera rays first cross levels of the density.
///
/// Pixels with depth are drawn without replacement. For each, the Gaussian that gives most to it is
/// found by blending on the host, since the rasteriser keeps no identity per pixel; its neighbours
/// make up the density. The ray is looked at over three standard deviations of that Gaussian to
/// both sides of its densest place, at 21 places; a crossing is found by interpolation and two
/// steps of regula falsi on the logarithm. Source: SuGaR (2024), section 4.2.
///
/// Works camera by camera, each a function of settings and camera index alone: a run may stop in
/// between and go on later with another extractor. The result does not depend on the number of
/// threads.
class SurfaceExtractor {
public:
    /// `neighbours` of the positions of the Gaussians, which stay as they are and outlive this.
    /// Levels must be above 0, `points` and `scale` too; there must be a Gaussian and a camera.
    SurfaceExtractor(Stream& stream, const Gaussians& gaussians, const RasterSettings& raster,
                     NeighbourTable neighbours, SurfaceSettings settings,
                     std::vector<Camera> cameras);

    Index cameras() const { return static_cast<Index>(m_cameras.size()); }
    /// Adds the points of one camera in the order of pixels, those of a pixel in the order of
    /// levels. `stop` is polled at least every 100 ms; where it says so, nothing is added and false
    /// comes back.
    bool extract(Stream& stream, Index camera, SurfacePoints& append,
                 const std::function<bool()>& stop = {});

    const DensityField& field() const { return m_field; }
    SurfaceCounts counts() const { return m_counts; } ///< of all cameras so far

private:
    const Gaussians* m_gaussians;
    RasterSettings m_raster;
    SurfaceSettings m_settings;
    std::vector<Camera> m_cameras;
    GaussianCloud m_cloud; ///< of degree 0
    DensityField m_field;
    DepthRenderer m_renderer;
    SurfaceCounts m_counts;
};

/// Indices of `count` of the pixels with depth, ascending: drawn without replacement by random
/// numbers that depend on seed and stream alone. All where there are no more.
std::vector<std::uint32_t> drawnPixels(const DepthView& view, Index count, std::uint64_t seed,
                                       std::uint64_t stream);

/// The crossings of some pixels of a view, whose front Gaussians are given. Deterministic; runs on
/// all threads.
SurfacePoints levelCrossings(const DensityField& field, const DepthView& view,
                             std::span<const std::uint32_t> pixels, const FrontSplats& front,
                             const SurfaceSettings& settings, SurfaceCounts& counts);

} // namespace vergence::sugar
