#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/runtime/call.h"

namespace vergence::emulation {

/// Of language/device_language.h, which cannot be included where CUDA's own headers are.
bool allowSharedBytes(const void* kernel, int bytes);

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                            int value)
{
    return call("cudaFuncSetAttribute", [&]() -> cudaError_t {
        if (!function)
            return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
            return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0)
            return cudaErrorInvalidValue;
        return allowSharedBytes(function, value) ? cudaSuccess : cudaErrorInvalidValue;
    });
}
