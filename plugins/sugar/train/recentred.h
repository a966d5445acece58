#pragma once

#include "plugins/sugar/train/picture_source.h"

namespace vergence::sugar {

/// The pictures in a frame whose origin is near the cameras, where the scene lies so far from its
/// own origin that single precision would lose it; otherwise the source itself. Files of results
/// add originOf() again.
std::unique_ptr<PictureSource> recentred(std::unique_ptr<PictureSource> source);

/// World position of the frame's origin; 0 where nothing was moved.
std::array<double, 3> originOf(const PictureSource& source);

} // namespace vergence::sugar
