#pragma once

#include <string>

#include <cuda_runtime.h>

#include "core/base/error.h"

namespace vergence {

/// Throws DeviceError for a CUDA call of the interop path; the window then falls back to shared
/// memory.
inline void checkInterop(cudaError_t error, const std::string& what)
{
    if (error == cudaSuccess)
        return;
    cudaGetLastError(); // CUDA remembers it, and a later call that asks would be blamed for it
    throw DeviceError(what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
                      ").");
}

} // namespace vergence
