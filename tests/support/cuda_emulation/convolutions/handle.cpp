#include "tests/support/cuda_emulation/convolutions/handle.h"

#include "tests/support/cuda_emulation/convolutions/calls.h"
#include "tests/support/cuda_emulation/engine/handles.h"
#include "tests/support/cuda_emulation/engine/streams.h"

namespace vergence::emulation::convolutions {

namespace {

Handles<LibraryHandle>& handles()
{
    static auto* live = new Handles<LibraryHandle>(0xd1, "a handle of cuDNN"); // the caller destroys some as the process ends
    return *live;
}

} // namespace

cudnnHandle_t addHandle(int device)
{
    auto handle = std::make_shared<LibraryHandle>();
    handle->device = device;
    return static_cast<cudnnHandle_t>(handles().add(std::move(handle)));
}

void removeHandle(cudnnHandle_t handle)
{
    handles().remove(handle);
}

std::shared_ptr<LibraryHandle> findHandle(cudnnHandle_t handle, const char* function)
{
    demand(handle != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the handle is null");
    auto found = handles().find(handle, function);
    if (!found)
        throw Refusal{CUDNN_STATUS_BAD_PARAM, "the handle is none that lives", true};
    return found;
}

void setStream(LibraryHandle& handle, CUstream_st* stream, const char* function)
{
    if (stream) {
        const auto found = findStream(stream, function);
        if (!found)
            throw Refusal{CUDNN_STATUS_BAD_PARAM, "the stream is none that lives", true};
        demand(found->device == handle.device, CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
               "the stream is of another device than the handle");
    }
    handle.stream = stream;
}

} // namespace vergence::emulation::convolutions
