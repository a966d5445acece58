#pragma once

#include <cstdint>

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence {

/// Most pairs of a head.
inline constexpr Index kMostRopePairs = 128;

/// A call of rope() with checked arguments; strides in elements.
struct RopeProblem {
    DType type = DType::F32;
    Index batches = 0, length = 0, heads = 0, pairs = 0;
    const void* x = nullptr;
    void* y = nullptr;
    Index xBatch = 0, xRow = 0, xHead = 0, yBatch = 0, yRow = 0, yHead = 0;
    const std::int32_t* positions = nullptr;
    Index positionBatch = 0; ///< 0 where all batches share them
    Index first = 0;
    double frequency[kMostRopePairs] = {}; ///< angle per position, negative for the derivative
};

inline const Kernel<void(const RopeProblem&)> ropeKernel{"compute.rope"};

} // namespace vergence
