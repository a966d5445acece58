#pragma once

#include <string_view>

#include "core/artifact/image.h"

namespace vergence {

/// The tag "Orientation" (1 to 8) of a JPEG or PNG file in memory; 1 where there is none.
int exifOrientation(std::string_view file);
/// The picture upright: what a viewer shows for that orientation.
Image upright(const Image& image, int orientation);

} // namespace vergence
