#pragma once

#include <memory>
#include <vector>

#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

/// Coverage below which a pixel has no depth.
inline constexpr float kLeastCoverage = 0.5F;

/// The surface as one camera sees it, on the host.
struct DepthView {
    Camera camera;
    std::vector<float> depth;         ///< [H, W] camera z, world units; 0 without surface
    std::vector<float> normal;        ///< [H, W, 3] unit, world axes, towards the camera; or 0
    std::vector<float> coverage;      ///< [H, W] 0 to 1
    std::vector<std::uint8_t> colour; ///< [H, W, 3] sRGB without view dependence; may be empty
};

/// What the depth of a pixel is: that of its front Gaussian (see FrontHit), or the mean D/A of the
/// rasteriser, into which surfaces behind a not quite opaque one are mixed.
enum class DepthKind { Front, Expected };

/// Draws DepthViews of Gaussians. There is depth where the coverage is above ½; the colour has the
/// degree 0 of the harmonics only.
class DepthRenderer {
public:
    DepthRenderer(const std::shared_ptr<Device>& device, RasterSettings settings,
                  DepthKind kind = DepthKind::Front);

    /// Polled during a pass; see Rasteriser.
    void setStop(std::function<bool()> stopRequested);
    /// At `scale` times the size of the camera, at least 1 × 1. scale above 0.
    DepthView render(Stream& stream, const Gaussians& gaussians, const Camera& camera,
                     double scale = 1);

private:
    RasterSettings m_settings;
    DepthKind m_kind;
    Rasteriser m_rasteriser;
};

/// Whether depth steps at a pixel: two neighbours along a row or column lie more than 10 % of its
/// own depth apart, one of the four has no depth, or the pixel is at the border of the picture.
bool hasDepthStep(const DepthView& view, int row, int column);

} // namespace vergence::sugar
