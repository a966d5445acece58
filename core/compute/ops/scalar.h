#pragma once

#include "core/compute/tensor.h"

namespace vergence {

// Conventions: core/compute/ops/pointwise.h. For numbers that the host does not know, such as the
// gradient of a loss.

/// y = factor · x, or added to y. factor: [1] F32 (F64 for F64). y has the type of x, or x is F32
/// and y has 16 bits.
void scaleByDevice(Stream& stream, const Tensor& x, const Tensor& factor, const Tensor& y,
                   bool accumulate);

/// sum = Σ x ⊙ w, added in F64. w has the type of x or is F32; sum: [1] F32 (F64 for F64).
void dotProduct(Stream& stream, const Tensor& x, const Tensor& w, const Tensor& sum);

} // namespace vergence
