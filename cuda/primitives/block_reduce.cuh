#pragma once

#include "core/compute/host_device.h"

namespace vergence {

/// Sum over a block of `Threads` threads (a power of two, at least 32) in a fixed tree; the result
/// is valid in thread 0. `shared` holds Threads / 32 values. Every thread of the block must call
/// it.
template <int Threads, class T>
__device__ T blockSum(T value, T* shared)
{
    static_assert(Threads >= 32 && (Threads & (Threads - 1)) == 0,
                  "a power of two, at least one warp");
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = value;
    __syncthreads();
    constexpr int kWarps = Threads / 32;
    if (threadIdx.x < 32) {
        value = threadIdx.x < kWarps ? shared[threadIdx.x] : T(0);
        for (int step = 16; step > 0; step /= 2)
            value += __shfl_down_sync(0xffffffffu, value, step);
    }
    __syncthreads();
    return value;
}

} // namespace vergence
