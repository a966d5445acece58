#pragma once

#include "core/compute/kernel.h"
#include "core/compute/ops/attention_math.h"

namespace vergence {

/// Arguments are checked by attention() and attentionBackward(); nothing is checked again.
inline const Kernel<void(const AttentionProblem&)> attentionForwardKernel{
    "compute.attention.forward"};
inline const Kernel<void(const AttentionProblem&)> attentionBackwardKernel{
    "compute.attention.backward"};

/// The formula with one item per thread: reference of the tiled kernels, and what CUDA uses for
/// F64.
inline const Kernel<void(const AttentionProblem&)> attentionForwardPlain{
    "compute.attention.forward.plain"};
inline const Kernel<void(const AttentionProblem&)> attentionBackwardPlain{
    "compute.attention.backward.plain"};

} // namespace vergence
