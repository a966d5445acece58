#pragma once

// For kernel files only: an inline namespace per build, so that no two builds share a symbol.

#include "core/compute/launch.h"
#include "core/compute/temporary.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Partial results as reduceInto() reads them: number `offset` of every group of `stride`.
struct ReadPartialSum {
    const double* partial;
    int stride, offset;
    VERGENCE_HD double operator()(Index group) const { return partial[group * stride + offset]; }
};

struct ReadTexelSums {
    const TexelSums* partial;
    VERGENCE_HD TexelSums operator()(Index i) const { return partial[i]; }
};

struct AddTexelSums {
    VERGENCE_HD TexelSums operator()(TexelSums a, const TexelSums& b) const
    {
        a.add(b);
        return a;
    }
};

#if defined(__CUDACC__)

inline constexpr int kSumThreads = 256;

/// Sum over a block of kSumThreads threads in a fixed order; valid in thread 0. `shared` has an
/// entry for each warp.
__device__ inline double blockSum(double value, int thread, double* shared)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    if (thread % 32 == 0)
        shared[thread / 32] = value;
    __syncthreads();
    if (thread == 0) {
        for (int warp = 1; warp < kSumThreads / 32; ++warp)
            value += shared[warp];
    }
    __syncthreads(); // before the next sum
    return value;
}

/// Sums a column of partial [rows, columns] per block.
template <class Real>
__global__ void sumColumn(const Real* partial, Index rows, Index columns, Real* out)
{
    __shared__ Real shared[kSumThreads / 32];
    Real sum = 0;
    for (Index row = threadIdx.x; row < rows; row += kSumThreads)
        sum += partial[row * columns + blockIdx.x];
    sum = blockSum(sum, static_cast<int>(threadIdx.x), shared);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

#endif

/// out[c] = Σ partial[row, c] of [rows, columns], in an order that depends on `rows` alone.
inline void sumColumns(Stream& stream, const double* partial, Index rows, int columns, double* out)
{
#if defined(__CUDACC__)
    sumColumn<<<static_cast<unsigned>(columns), kSumThreads, 0,
                static_cast<cudaStream_t>(stream.native())>>>(partial, rows, Index{columns}, out);
    checkLaunch(stream, "light_field.sumColumns");
#else
    for (int i = 0; i < columns; ++i)
        reduceInto(stream, rows, ReadPartialSum{partial, columns, i}, Plus{}, 0.0, out + i);
#endif
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::light_field
