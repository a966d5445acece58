#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

/// What a picture of Gaussians shows.
enum class SplatMode {
    Colour,
    Depth,        ///< expected depth
    MedianDepth,  ///< where half of the light is left
    RayDepth,     ///< where densities are largest along the rays
    Normal,       ///< of the Gaussians, in camera axes
    DepthNormal,  ///< of the surface that the depths make
    NormalGap,    ///< angle between the two, 0 to 90 degrees
    Coverage,     ///< 1 − transmittance
    Contributors, ///< Gaussians blended into a pixel
    TestError,    ///< mean error of held-out pictures where they show the Gaussian
    Gradient,     ///< mean gradient that density control goes by
    FilterSize,   ///< of the 3D filter
    Opacity,      ///< of each Gaussian
    Centres,      ///< small dots
    Ellipsoids,   ///< opaque, of one standard deviation and a half
};

/// Titles in the order of the enumeration.
const std::vector<std::string>& splatModeTitles();
bool needsGeometry(SplatMode mode);
/// The depth that has to be asked of the rasteriser and put into the images, for modes that have
/// one.
std::optional<Rasteriser::Depth> ownDepth(SplatMode mode);
/// Modes that colour each Gaussian by a number of its own.
bool isPerGaussian(SplatMode mode);

/// Values that span the colours of a picture: [low, high].
struct ColourSpan {
    double low = 0, high = 1;
};

/// Colour of a value from 0 to 1: blue over green and yellow to dark red.
/// Source: Turbo, an improved rainbow colormap for visualization (2019).
std::array<float, 3> turbo(float value);

/// RGBA8 pixels of a rendered picture, row by row. `span` is what was used where the mode has one.
std::vector<std::uint8_t> pixelsOf(Stream& stream, const RasterImages& images, const Camera& camera,
                                   SplatMode mode, ColourSpan* span = nullptr);

} // namespace vergence::sugar
