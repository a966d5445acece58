#pragma once

#include <cuda_runtime.h>

#include "core/compute/stream.h"
#include "cuda/backend/check.h"

namespace vergence {

/// Time between two places in a stream's work. Not while a launch graph is recorded.
class GpuStopwatch {
public:
    explicit GpuStopwatch(Stream& stream) : m_stream(static_cast<cudaStream_t>(stream.native()))
    {
        checkCuda(cudaEventCreate(&m_before), "Creating an event");
        const cudaError_t error = cudaEventCreate(&m_after);
        if (error != cudaSuccess)
            cudaEventDestroy(m_before);
        checkCuda(error, "Creating an event");
    }
    ~GpuStopwatch()
    {
        cudaEventDestroy(m_before);
        cudaEventDestroy(m_after);
    }
    GpuStopwatch(const GpuStopwatch&) = delete;
    GpuStopwatch& operator=(const GpuStopwatch&) = delete;

    void start() { checkCuda(cudaEventRecord(m_before, m_stream), "Timing work"); }
    /// Waits; milliseconds since start().
    float stop()
    {
        float milliseconds = 0;
        checkCuda(cudaEventRecord(m_after, m_stream), "Timing work");
        checkCuda(cudaEventSynchronize(m_after), "Timing work");
        checkCuda(cudaEventElapsedTime(&milliseconds, m_before, m_after), "Timing work");
        return milliseconds;
    }

private:
    cudaStream_t m_stream;
    cudaEvent_t m_before = nullptr, m_after = nullptr;
};

/// Of candidates that a library lists in its own order of preference, another than the first must
/// be this much faster: noise in the timing should not change results between processes.
inline constexpr float kClearlyFaster = 0.95f;
inline constexpr int kTimedCandidates = 8, kTimedRepetitions = 5;
/// Fewer: building a plan of cuDNN takes 10 ms and more, some compile their kernel.
inline constexpr int kTimedConvolutions = 4;

} // namespace vergence
