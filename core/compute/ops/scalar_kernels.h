#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence {

// Arguments are checked by core/compute/ops/scalar.cpp.
inline const Kernel<void(const Tensor& x, const Tensor& factor, const Tensor& y, bool accumulate)>
    scaleByDeviceKernel{"compute.scaleByDevice"};
inline const Kernel<void(const Tensor& x, const Tensor& w, const Tensor& sum)> dotProductKernel{
    "compute.dotProduct"};

} // namespace vergence
