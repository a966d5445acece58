#pragma once

#include <array>

#include "core/compute/tensor.h"

namespace vergence::sugar {

/// A photograph ([H, W, 3] U8) that was composited over black, over another colour (0 to 1):
/// photo + transparency · colour, rounded. transparency: [H, W] U8, 255 for all of the background.
Tensor overBackground(Stream& stream, const Tensor& photo, const Tensor& transparency,
                      const std::array<float, 3>& colour);

} // namespace vergence::sugar
