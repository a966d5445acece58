#pragma once

// For kernel files only. A kernel file is compiled once per CPU instruction set and, with CUDA,
// once by nvcc; the same text runs everywhere. Everything here lives in an inline namespace of its
// own per build, so that no two builds share a symbol.

#include "core/compute/kernel.h"
#include "core/compute/stream.h"
#include "core/compute/view.h"

#if defined(__CUDACC__)
#include <cstdlib>

#include <cuda_runtime.h>

#include "core/base/error.h"
#endif

#ifndef VERGENCE_KERNEL_VARIANT
#error "launch.h is for kernel files: list this source under KERNELS of vergence_add_kernels"
#endif

/// Announces the body of a kernel in this build.
#define VERGENCE_REGISTER_KERNEL(kernel, body)                                                     \
    [[maybe_unused]] static const bool kernel##Registered =                                        \
        kernel.registerBody(VERGENCE_KERNEL_VARIANT, &body);

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

#if defined(__CUDACC__)

namespace detail {
template <class Body>
__global__ void forEachKernel(Index n, Body body)
{
    const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n)
        body(i);
}
} // namespace detail

/// Throws DeviceError for a launch that failed; with VERGENCE_CUDA_SYNC=1 also for what the kernel
/// did.
inline void checkLaunch(Stream& stream, const char* what);

#endif

/// Runs body(i) for all i in [0, n): a loop over worker threads on the CPU, one thread per item on
/// CUDA. A body writes only its own item. `grain` is the least number of items worth a task on the
/// CPU.
template <class Body>
void forEach(Stream& stream, Index n, const Body& body, Index grain = 1024)
{
    if (n <= 0)
        return;
#if defined(__CUDACC__)
    (void)grain;
    constexpr unsigned kThreads = 256;
    const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
    detail::forEachKernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream.native())>>>(
        n, body);
    checkLaunch(stream, "forEach");
#else
    stream.parallelFor(
        n, grain,
        [](const void* context, Index first, Index last) {
            const Body& run = *static_cast<const Body*>(context);
            for (Index i = first; i < last; ++i)
                run(i);
        },
        &body);
#endif
}

#if defined(__CUDACC__)
inline void checkLaunch(Stream& stream, const char* what)
{
    cudaError_t error = cudaGetLastError();
    static const bool synchronous = [] {
        const char* value = std::getenv("VERGENCE_CUDA_SYNC");
        return value && value[0] == '1';
    }();
    if (error == cudaSuccess && synchronous)
        error = cudaStreamSynchronize(static_cast<cudaStream_t>(stream.native()));
    if (error != cudaSuccess)
        throw DeviceError(std::string(what) + ": " + cudaGetErrorString(error) +
                          "; set VERGENCE_CUDA_SYNC=1 to find the launch at fault");
}
#endif

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence

#include "core/compute/reduce.h"
