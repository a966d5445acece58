#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/findings.h"
#include "tests/support/cuda_emulation/engine/settings.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/runtime/call.h"
#include "tests/support/cuda_emulation/runtime/copies.h"

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t bytes)
{
    return unsafeCall("cudaMalloc", [&]() -> cudaError_t {
        if (!pointer)
            return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (bytes > 0)
            *pointer = allocateOnDevice(currentDevice(), bytes);
        return *pointer || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
    });
}

cudaError_t cudaFree(void* pointer)
{
    return unsafeCall("cudaFree", [&]() -> cudaError_t {
        if (!pointer)
            return cudaSuccess;
        finishAll(); // a card waits for itself before it takes memory away
        if (freeOnDevice(pointer))
            return cudaSuccess;
        report("free", "cudaFree", "no allocation begins there, or it is another process's");
        return cudaErrorInvalidValue;
    });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total)
{
    return call("cudaMemGetInfo", [&]() -> cudaError_t {
        if (!free || !total)
            return cudaErrorInvalidValue;
        const std::size_t used = bytesInUse(currentDevice());
        *total = settings().bytesPerDevice;
        *free = *total > used ? *total - used : 0;
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer)
{
    return call("cudaPointerGetAttributes", [&]() -> cudaError_t {
        if (!attributes || !pointer)
            return cudaErrorInvalidValue;
        *attributes = {};
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = cudaInvalidDeviceId;
        void* const address = const_cast<void*>(pointer);
        if (const auto allocation = allocationAt(pointer)) {
            attributes->type = cudaMemoryTypeDevice;
            attributes->device = allocation->device;
            attributes->devicePointer = address;
        } else if (isPinned(pointer, 1)) {
            attributes->type = cudaMemoryTypeHost;
            attributes->device = currentDevice();
            attributes->devicePointer = attributes->hostPointer = address;
        }
        return cudaSuccess;
    });
}

} // extern "C"
