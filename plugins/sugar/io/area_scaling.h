#pragma once

#include "core/artifact/image.h"

namespace vergence::sugar {

/// Box filter: each new pixel is the mean of the area it covers, shares of old pixels included.
/// Sides must not grow. The same size is a copy.
Image areaScaled(const Image& image, int width, int height);

} // namespace vergence::sugar
