#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::test {

/// out[i] = 3 · in[i] + i, all [N].
inline const Kernel<void(const Tensor&, Tensor&)> scaleAndAdd{"test.scale_and_add"};
/// out(y, x) = in(x, y) for in [W, H].
inline const Kernel<void(const Tensor&, Tensor&)> transpose{"test.transpose"};
/// out[i] = word i of the stream `stream` of `seed`, as U32 in I32 storage.
inline const Kernel<void(std::uint64_t, std::uint64_t, Tensor&)> randomWords{"test.random_words"};
/// Sum of in [N] in double.
inline const Kernel<void(const Tensor&, double&)> sum{"test.sum"};
/// Largest of in [N] into out [1]; -1e30 for none.
inline const Kernel<void(const Tensor&, Tensor&)> largest{"test.largest"};
/// A name without any body.
inline const Kernel<void(Tensor&)> nobody{"test.nobody"};
/// The name of scaleAndAdd with another signature.
inline const Kernel<void(Tensor&)> mismatched{"test.scale_and_add"};

} // namespace vergence::test
