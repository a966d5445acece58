#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

/// The Gaussian that gives most to a pixel, and the depth of its surface there.
struct FrontHit {
    std::uint32_t gaussian = 0;
    float depth = 0; ///< camera z where its density is greatest along the ray, world units
};

/// Host copy of Gaussians without the harmonics of degree 1 and above, which make up three quarters
/// of them. Waits for the stream.
GaussianCloud downloadShapes(Stream& stream, const Gaussians& gaussians);

/// Finds the front Gaussians of single pixels on the host, by blending as the rasteriser does. A
/// pixel is done as soon as what is left of the light is less than the greatest weight so far, so
/// surfaces behind the first opaque one cost nothing and do not pull its depth back, as they do
/// with the expected depth.
class FrontSplats {
public:
    /// Projects and sorts all Gaussians, on all threads. The cloud must stay while this is in use;
    /// its harmonics are not read.
    FrontSplats(const GaussianCloud& cloud, const Camera& camera, const RasterSettings& settings);

    /// The front of pixel row · width + column; none where no Gaussian shows. Thread-safe.
    std::optional<FrontHit> at(std::uint32_t pixel) const;

private:
    struct Splat {
        float u, v, conicA, conicB, conicC, opacity, depth, reachU, reachV;
        std::uint32_t gaussian;
    };

    const GaussianCloud* m_cloud;
    Camera m_camera;
    int m_tilesWide = 0, m_tilesHigh = 0;
    std::vector<Splat> m_splats;          ///< front to back
    std::vector<std::uint32_t> m_first;   ///< [tiles + 1] into m_entries
    std::vector<std::uint32_t> m_entries; ///< splats of each tile, front to back

    void project(const RasterSettings& settings);
    void fillTiles();
    float peakDepth(std::uint32_t gaussian, std::uint32_t pixel) const;
};

} // namespace vergence::sugar
