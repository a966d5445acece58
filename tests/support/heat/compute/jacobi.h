#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::heat {

/// One sweep from `u` into `next`, both [H, W] fp32.
inline const Kernel<void(const Tensor&, Tensor&)> jacobi{"heat.jacobi"};

} // namespace vergence::heat
