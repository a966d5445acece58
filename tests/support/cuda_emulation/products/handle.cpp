#include "tests/support/cuda_emulation/products/handle.h"

#include "tests/support/cuda_emulation/engine/handles.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation {

namespace {

struct Library {
    int device;
};

// Never taken down: static objects of the caller may destroy handles as the process ends.
Handles<Library>& handles()
{
    static auto* all = new Handles<Library>(0xb1, "a handle of cuBLASLt");
    return *all;
}

} // namespace

Verdict verdictOn(cublasLtHandle_t handle, const Call& call)
{
    if (!handle)
        return Refusal{CUBLAS_STATUS_NOT_INITIALIZED, "no handle", true};
    const auto library = handles().find(handle, call.name());
    if (!library)
        return missing(handle, "handle");
    if (library->device != currentDevice())
        return mistake("the handle was made for device " + std::to_string(library->device) +
                       ", but device " + std::to_string(currentDevice()) + " is current");
    return {};
}

namespace {

struct Status {
    cublasStatus_t status;
    const char* name;
    const char* text;
};
constexpr Status kStatuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR",
     "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the requested functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};

const Status& describe(cublasStatus_t status)
{
    static constexpr Status unknown = {CUBLAS_STATUS_SUCCESS, "unrecognized status",
                                       "unrecognized status"};
    for (const Status& known : kStatuses) {
        if (known.status == status)
            return known;
    }
    return unknown;
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle)
{
    const Call call("cublasLtCreate");
    if (const auto failure = call.injected())
        return *failure;
    if (!handle)
        return call.end(mistake("nowhere to write the handle"));
    *handle = static_cast<cublasLtHandle_t>(
        handles().add(std::make_shared<Library>(Library{currentDevice()})));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    const Call call("cublasLtDestroy");
    if (!handles().find(handle, call.name()))
        return call.end(missing(handle, "handle"));
    handles().remove(handle);
    return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status)
{
    return describe(status).name;
}

const char* cublasLtGetStatusString(cublasStatus_t status)
{
    return describe(status).text;
}

size_t cublasLtGetVersion()
{
    return CUBLAS_VERSION;
}
}
