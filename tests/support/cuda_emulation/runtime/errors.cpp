#include <algorithm>
#include <array>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/runtime/call.h"

namespace vergence::emulation {

namespace {

thread_local cudaError_t lastError = cudaSuccess;

struct ErrorText {
    cudaError_t error;
    const char* name;
    const char* text;
};
#define VERGENCE_ERROR(error, text)                                                                \
    ErrorText                                                                                      \
    {                                                                                              \
        error, #error, text                                                                        \
    }

constexpr std::array kTexts = {
    VERGENCE_ERROR(cudaSuccess, "no error"),
    VERGENCE_ERROR(cudaErrorInvalidValue, "invalid argument"),
    VERGENCE_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    VERGENCE_ERROR(cudaErrorInitializationError, "initialization error"),
    VERGENCE_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    VERGENCE_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    VERGENCE_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    VERGENCE_ERROR(cudaErrorInsufficientDriver,
                   "CUDA driver version is insufficient for CUDA runtime version"),
    VERGENCE_ERROR(cudaErrorDevicesUnavailable,
                   "CUDA-capable device(s) is/are busy or unavailable"),
    VERGENCE_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    VERGENCE_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    VERGENCE_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    VERGENCE_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    VERGENCE_ERROR(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    VERGENCE_ERROR(cudaErrorNoKernelImageForDevice,
                   "no kernel image is available for execution on the device"),
    VERGENCE_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    VERGENCE_ERROR(cudaErrorOperatingSystem,
                   "OS call failed or operation not supported on this OS"),
    VERGENCE_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    VERGENCE_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    VERGENCE_ERROR(cudaErrorNotReady, "device not ready"),
    VERGENCE_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    VERGENCE_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    VERGENCE_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    VERGENCE_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    VERGENCE_ERROR(cudaErrorAssert, "device-side assert triggered"),
    VERGENCE_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                   "part or all of the requested memory range is already mapped"),
    VERGENCE_ERROR(cudaErrorHostMemoryNotRegistered,
                   "pointer does not correspond to a registered memory region"),
    VERGENCE_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    VERGENCE_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    VERGENCE_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    VERGENCE_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    VERGENCE_ERROR(cudaErrorNotSupported, "operation not supported"),
    VERGENCE_ERROR(cudaErrorStreamCaptureUnsupported,
                   "operation not permitted when stream is capturing"),
    VERGENCE_ERROR(cudaErrorStreamCaptureInvalidated,
                   "operation failed due to a previous error during capture"),
    VERGENCE_ERROR(cudaErrorStreamCaptureMerge,
                   "operation would result in a merge of separate capture sequences"),
    VERGENCE_ERROR(cudaErrorStreamCaptureUnmatched,
                   "capture was not ended in the same stream as it "
                   "began"),
    VERGENCE_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    VERGENCE_ERROR(cudaErrorStreamCaptureIsolation,
                   "dependency created on uncaptured work in another stream"),
    VERGENCE_ERROR(cudaErrorStreamCaptureImplicit,
                   "operation would make the legacy stream depend on a capturing blocking stream"),
    VERGENCE_ERROR(cudaErrorCapturedEvent,
                   "operation not permitted on an event last recorded in a capturing stream"),
    VERGENCE_ERROR(cudaErrorStreamCaptureWrongThread,
                   "attempt to terminate a thread-local capture sequence from another thread"),
    VERGENCE_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef VERGENCE_ERROR

const ErrorText* textOf(cudaError_t error)
{
    const auto* found = std::find_if(kTexts.begin(), kTexts.end(),
                                     [&](const ErrorText& text) { return text.error == error; });
    return found == kTexts.end() ? nullptr : found;
}

/// After a fault of a kernel the device is lost to the process.
bool isFaultOfKernel(int error)
{
    switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return true;
    default:
        return false;
    }
}

} // namespace

void setLastError(int error)
{
    lastError = static_cast<cudaError_t>(error);
}

cudaError_t errorBefore(const char* function)
{
    if (const auto failure = injectedFailure(function)) {
        if (isFaultOfKernel(*failure))
            setStickyError(*failure);
        return static_cast<cudaError_t>(*failure);
    }
    return deviceCount() == 0 ? cudaErrorNoDevice : static_cast<cudaError_t>(stickyError());
}

cudaError_t ended(cudaError_t error)
{
    if (stickyError() != 0)
        error = static_cast<cudaError_t>(stickyError());
    if (error != cudaSuccess)
        lastError = error;
    return error;
}

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaPeekAtLastError()
{
    return stickyError() != 0 ? static_cast<cudaError_t>(stickyError()) : lastError;
}

cudaError_t cudaGetLastError()
{
    if (const auto failure = injectedFailure("cudaGetLastError"))
        return static_cast<cudaError_t>(*failure);
    const cudaError_t error = cudaPeekAtLastError();
    lastError = cudaSuccess;
    return error;
}

const char* cudaGetErrorString(cudaError_t error)
{
    const ErrorText* const found = textOf(error);
    return found ? found->text : "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error)
{
    const ErrorText* const found = textOf(error);
    return found ? found->name : "unrecognized error code";
}

} // extern "C"
