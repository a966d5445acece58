#pragma once

#include <cstdint>

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence {

struct DropoutArguments {
    DType type = DType::F32;
    Index count = 0;
    const void* x = nullptr;
    void* y = nullptr;
    std::uint32_t threshold = 0; ///< words from there on are kept
    double factor = 1;           ///< of what is kept
    const std::int64_t* seedAndStep = nullptr;
    std::uint32_t purpose = 0;
};

/// y[i] from words of (seed, streamId), index i.
struct RandomFillArguments {
    DType type = DType::F32;
    Index count = 0;
    void* y = nullptr;
    std::uint64_t seed = 0, streamId = 0;
    double offset = 0, factor = 1; ///< mean and deviation, or low and high − low
    double below = 0;              ///< uniform: the largest number of the type below high
};

inline const Kernel<void(const DropoutArguments&)> dropoutKernel{"compute.dropout"};
inline const Kernel<void(const RandomFillArguments&)> fillNormalKernel{"compute.fill_normal"};
inline const Kernel<void(const RandomFillArguments&)> fillUniformKernel{"compute.fill_uniform"};

} // namespace vergence
