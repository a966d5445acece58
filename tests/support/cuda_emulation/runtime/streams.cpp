#include "tests/support/cuda_emulation/engine/streams.h"

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/runtime/call.h"
#include "tests/support/cuda_emulation/runtime/captures.h"

namespace vergence::emulation {

namespace {

cudaError_t create(cudaStream_t* stream, unsigned flags)
{
    if (!stream || (flags & ~unsigned{cudaStreamNonBlocking}))
        return cudaErrorInvalidValue;
    *stream = addStream(currentDevice(), flags & cudaStreamNonBlocking);
    return cudaSuccess;
}

/// Waiting for a stream that is captured is a fault whatever the thread's mode is.
cudaError_t refusalToAsk(cudaStream_t handle, const char* function)
{
    if (const int refusal = refusalOf(handle, function))
        return static_cast<cudaError_t>(refusal);
    const Stream& stream = streamOf(handle);
    if (!stream.recording)
        return captureForbids(function);
    invalidate(*stream.recording, function);
    return cudaErrorStreamCaptureUnsupported;
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream)
{
    return call("cudaStreamCreate", [&] { return create(stream, cudaStreamDefault); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags)
{
    return call("cudaStreamCreateWithFlags", [&] { return create(stream, flags); });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    return call("cudaStreamDestroy", [&]() -> cudaError_t {
        if (!handle || handle == cudaStreamLegacy)
            return cudaErrorInvalidResourceHandle;
        const auto stream = findStream(handle, "cudaStreamDestroy");
        if (!stream)
            return cudaErrorInvalidResourceHandle;
        if (stream->recording) {
            invalidate(*stream->recording, "cudaStreamDestroy");
            return cudaErrorStreamCaptureUnsupported;
        }
        removeStream(handle);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    return call("cudaStreamSynchronize", [&]() -> cudaError_t {
        const cudaError_t refusal = refusalToAsk(handle, "cudaStreamSynchronize");
        if (refusal != cudaSuccess)
            return refusal;
        Stream& stream = streamOf(handle);
        finish(stream, stream.issued);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    return call("cudaStreamQuery", [&]() -> cudaError_t {
        const cudaError_t refusal = refusalToAsk(handle, "cudaStreamQuery");
        if (refusal != cudaSuccess)
            return refusal;
        Stream& stream = streamOf(handle);
        if (stream.done == stream.issued)
            return cudaSuccess;
        finish(stream, stream.issued); // so that a loop that asks comes to its end
        return cudaErrorNotReady;
    });
}

} // extern "C"
