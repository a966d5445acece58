#pragma once

#include <string>

#include <cuda_runtime.h>

#include "core/base/error.h"

namespace vergence {

/// Throws DeviceError for a CUDA call that failed; `what` says what was tried.
inline void checkCuda(cudaError_t error, const std::string& what)
{
    if (error == cudaSuccess)
        return;
    cudaGetLastError(); // CUDA remembers it, and the next launch that asks would be blamed for it
    const ExitCode code =
        error == cudaErrorMemoryAllocation ? ExitCode::OutOfMemory : ExitCode::RunFailed;
    throw DeviceError(
        what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ").", code);
}

/// Makes a device current for a scope; CUDA keeps that choice per thread.
class CurrentDevice {
public:
    explicit CurrentDevice(int index)
    {
        checkCuda(cudaGetDevice(&m_before), "Asking for the current CUDA device");
        if (m_before != index)
            checkCuda(cudaSetDevice(index), "Choosing a CUDA device");
        m_changed = m_before != index;
    }
    ~CurrentDevice()
    {
        if (m_changed)
            cudaSetDevice(m_before);
    }
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

private:
    int m_before = 0;
    bool m_changed = false;
};

} // namespace vergence
