#pragma once

#include "core/artifact/image.h"

namespace vergence {

/// Area-averaged copy; `scale` in (0, 1] shrinks, above 1 enlarges by repeating pixels. Never below
/// 1 px.
Image scaled(const Image& image, double scale);
/// The first three channels; grey becomes RGB.
Image toRgb(const Image& image);
/// Grey and RGB get an opaque fourth channel.
Image toRgba(const Image& image);
/// A copy of the given size with the image in its middle on black; what does not fit is cut.
Image centredOn(const Image& image, int width, int height);

} // namespace vergence
