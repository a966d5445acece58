#pragma once

#include <cstdint>
#include <vector>

#include "core/artifact/image.h"

namespace vergence::sugar {

/// Gives every pixel of an RGB picture whose `isKnown` [H·W] is 0 the mean colour of the smallest
/// square around it, of 2, 4, 8 … pixels a side, that holds a known one. Without any the picture
/// stays as it is.
/// Source: The lumigraph (1996), section 3.4, without the blending of levels.
void fillFromCoarser(Image& image, const std::vector<std::uint8_t>& isKnown);

} // namespace vergence::sugar
