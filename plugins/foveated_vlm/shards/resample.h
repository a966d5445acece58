#pragma once

#include <cstdint>
#include <vector>

#include "core/artifact/image.h"

namespace vergence::fvlm {

/// Part of a picture, px; may end between pixels.
struct PictureWindow {
    double x = 0, y = 0, width = 0, height = 0;
};

/// The window of an RGB picture at another size, [3, height, width], by the cubic filter of Keys
/// with a = −1/2, made wider where the picture shrinks so that nothing is missed. Weights that fall
/// outside of the picture go to the others. Source: Cubic convolution interpolation for digital
/// image processing, 1981, eq. 15.
std::vector<std::uint8_t> resampled(const Image& rgb, const PictureWindow& window, int width,
                                    int height);

} // namespace vergence::fvlm
