#pragma once

#include <span>

#include "core/compute/view.h"

namespace vergence::live {

/// frame [3, size, size] → grid [3p², size/p, size/p], channels first: out[c·p² + dy·p + dx, Y, X]
/// = in[c, Y·p + dy, X·p + dx]. Exact; `size` is a multiple of p. Throws ContractError where
/// lengths do not fit.
void pixelUnshuffle(std::span<const float> frame, Index size, Index patch, std::span<float> grid);
/// The inverse.
void pixelShuffle(std::span<const float> grid, Index size, Index patch, std::span<float> frame);

} // namespace vergence::live
