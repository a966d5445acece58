#pragma once

// CUDA driver: a block per row; sums by a fixed tree.

#include "core/compute/half.h"
#include "core/compute/launch.h"
#include "core/compute/ops/linear_cross_entropy_kernels.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace cross_entropy_tiles {

inline constexpr int kThreads = 256;

struct Largest {
    template <class Value>
    __device__ Value operator()(Value a, Value b) const
    {
        return a > b ? a : b;
    }
};

/// Combines one value of each thread; all threads get the result.
template <class Value, class Combine>
__device__ Value combined(Value value, Combine combine)
{
    __shared__ Value shared[kThreads];
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned step = kThreads / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + step]);
        __syncthreads();
    }
    const Value result = shared[0];
    __syncthreads();
    return result;
}

template <class T>
__global__ void rowKernel(LogitRows rows)
{
    using Real = Accumulator<T>;
    const Index i = blockIdx.x;
    T* z = static_cast<T*>(rows.logits) + i * rows.classes;
    const std::int32_t label = rows.labels[i];
    Real* loss = static_cast<Real*>(rows.rowLoss) + i;
    if (label < 0) {
        if (threadIdx.x == 0)
            *loss = 0;
        for (Index j = threadIdx.x; rows.wantsGradient && j < rows.classes; j += kThreads)
            z[j] = T(Accumulator<T>(0));
        return;
    }
    Real top = -Real(HUGE_VAL), sum = 0;
    for (Index j = threadIdx.x; j < rows.classes; j += kThreads)
        top = Largest{}(static_cast<Real>(z[j]), top);
    top = combined(top, Largest{});
    for (Index j = threadIdx.x; j < rows.classes; j += kThreads)
        sum += exp(static_cast<Real>(z[j]) - top);
    const Real logSumExp = top + log(combined(sum, Plus{}));
    if (threadIdx.x == 0)
        *loss = label < rows.classes ? logSumExp - static_cast<Real>(z[label]) : Real(NAN);
    if (!rows.wantsGradient)
        return;
    __syncthreads(); // the logit of the label has been read
    const Real grad = rows.gradLoss ? *static_cast<const Real*>(rows.gradLoss) : Real(1);
    const Real factor = grad / static_cast<Real>(*rows.counted);
    for (Index j = threadIdx.x; j < rows.classes; j += kThreads) {
        const Real p = exp(static_cast<Real>(z[j]) - logSumExp);
        z[j] = T((j == label ? p - 1 : p) * factor);
    }
}

template <class T>
void logitRows(Stream& stream, const LogitRows& rows)
{
    if (rows.rows <= 0)
        return;
    rowKernel<T><<<static_cast<unsigned>(rows.rows), kThreads, 0,
                   static_cast<cudaStream_t>(stream.native())>>>(rows);
    checkLaunch(stream, "linearCrossEntropy");
}

inline __global__ void countKernel(const std::int32_t* labels, Index rows, std::int32_t* counted)
{
    std::int32_t count = 0;
    for (Index i = threadIdx.x; i < rows; i += kThreads)
        count += labels[i] >= 0;
    count = combined(count, Plus{});
    if (threadIdx.x == 0)
        *counted = count;
}

inline void countLabels(Stream& stream, const std::int32_t* labels, Index rows,
                        std::int32_t* counted)
{
    countKernel<<<1, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(labels, rows,
                                                                                counted);
    checkLaunch(stream, "linearCrossEntropy: labels");
}

template <class Real>
__global__ void meanKernel(const Real* rowLoss, Index rows, const std::int32_t* counted, Real* loss)
{
    double sum = 0;
    for (Index i = threadIdx.x; i < rows; i += kThreads)
        sum += static_cast<double>(rowLoss[i]);
    sum = combined(sum, Plus{});
    if (threadIdx.x == 0)
        *loss = static_cast<Real>(*counted > 0 ? sum / *counted : 0.0);
}

template <class Real>
void meanRowLoss(Stream& stream, const Real* rowLoss, Index rows, const std::int32_t* counted,
                 Real* loss)
{
    meanKernel<Real><<<1, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(rowLoss, rows,
                                                                                     counted, loss);
    checkLaunch(stream, "linearCrossEntropy: mean");
}

} // namespace cross_entropy_tiles
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
