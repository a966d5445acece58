#pragma once

#include <mutex>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/engine/visible_devices.h"

namespace vergence::emulation {

/// The error with which a function ends before it does anything: none of the devices is there, an
/// earlier fault, an injected failure. cudaSuccess where it may go on.
cudaError_t errorBefore(const char* function);
/// Remembers what a function returns; a fault found meanwhile comes first.
cudaError_t ended(cudaError_t error);

/// A function that needs no context of a device.
template <class Body>
cudaError_t question(const char* function, Body body)
{
    const std::lock_guard guard(deviceLock());
    const cudaError_t before = errorBefore(function);
    return ended(before != cudaSuccess ? before : body());
}

/// Every other function of the runtime passes by here under its own name, except for those that
/// have nothing to do with a device.
template <class Body>
cudaError_t call(const char* function, Body body)
{
    return question(function, [&]() -> cudaError_t {
        openContext(currentDevice());
        return body();
    });
}

/// cudaErrorStreamCaptureUnsupported where a capture forbids the calling thread what it cannot see;
/// the captures concerned have failed then.
cudaError_t captureForbids(const char* function);

/// A function that may be unsafe while a stream is captured, as CUDA calls it.
template <class Body>
cudaError_t unsafeCall(const char* function, Body body)
{
    return call(function, [&]() -> cudaError_t {
        const cudaError_t refusal = captureForbids(function);
        return refusal != cudaSuccess ? refusal : body();
    });
}

} // namespace vergence::emulation
