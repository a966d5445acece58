#include <memory>
#include <optional>

#include <cuda_runtime_api.h>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/handles.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/runtime/call.h"
#include "tests/support/cuda_emulation/runtime/captures.h"

namespace vergence::emulation {

namespace {

Handles<const Recording>& graphs()
{
    static auto* all = new Handles<const Recording>(3, "a graph");
    return *all;
}

Handles<const Recording>& executables()
{
    static auto* all = new Handles<const Recording>(4, "an executable graph");
    return *all;
}

void replay(const Recording& recording)
{
    std::optional<Open> opened;
    if (recording.steps.size() > 1)
        opened.emplace();
    for (const Recording::Step& step : recording.steps) {
        if (stickyError() == 0)
            step.work();
    }
}

cudaStreamCaptureStatus statusOf(const Stream& stream)
{
    if (!stream.recording)
        return cudaStreamCaptureStatusNone;
    return stream.recording->invalidated.empty() ? cudaStreamCaptureStatusActive
                                                 : cudaStreamCaptureStatusInvalidated;
}

/// A blocking stream that is captured makes the default stream unusable, though asking harms
/// nothing.
bool isImplied(const Stream& stream)
{
    if (&stream != &defaultStream(stream.device))
        return false;
    for (const auto& other : allStreams()) {
        if (other->recording && !other->isNonBlocking && other->device == stream.device)
            return true;
    }
    return false;
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode)
{
    return call("cudaStreamBeginCapture", [&]() -> cudaError_t {
        if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
            return cudaErrorInvalidValue;
        const auto stream = findStream(handle, "cudaStreamBeginCapture");
        return stream ? beginCapture(*stream, mode) : cudaErrorInvalidResourceHandle;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph)
{
    return call("cudaStreamEndCapture", [&]() -> cudaError_t {
        if (!graph)
            return cudaErrorInvalidValue;
        *graph = nullptr;
        const auto stream = findStream(handle, "cudaStreamEndCapture");
        if (!stream)
            return cudaErrorInvalidResourceHandle;
        std::shared_ptr<const Recording> recording;
        const cudaError_t error = endCapture(*stream, recording);
        if (error == cudaSuccess)
            *graph = static_cast<cudaGraph_t>(graphs().add(std::move(recording)));
        return error;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status)
{
    return call("cudaStreamIsCapturing", [&]() -> cudaError_t {
        if (!status)
            return cudaErrorInvalidValue;
        const auto stream = findStream(handle, "cudaStreamIsCapturing");
        if (!stream)
            return cudaErrorInvalidResourceHandle;
        if (isImplied(*stream))
            return cudaErrorStreamCaptureImplicit;
        *status = statusOf(*stream);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags)
{
    return call("cudaGraphInstantiate", [&]() -> cudaError_t {
        if (!executable || !graph || flags != 0)
            return cudaErrorInvalidValue;
        *executable = nullptr;
        auto recording = graphs().find(graph, "cudaGraphInstantiate");
        if (!recording)
            return cudaErrorInvalidResourceHandle;
        *executable = static_cast<cudaGraphExec_t>(executables().add(std::move(recording)));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    return call("cudaGraphLaunch", [&]() -> cudaError_t {
        if (!executable)
            return cudaErrorInvalidValue;
        auto recording = executables().find(executable, "cudaGraphLaunch");
        if (!recording)
            return cudaErrorInvalidResourceHandle;
        if (const int refusal = refusalOf(stream, "cudaGraphLaunch"))
            return static_cast<cudaError_t>(refusal);
        issue(streamOf(stream), [recording] { replay(*recording); });
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return call("cudaGraphDestroy", [&]() -> cudaError_t {
        if (!graph)
            return cudaErrorInvalidValue;
        if (!graphs().find(graph, "cudaGraphDestroy"))
            return cudaErrorInvalidResourceHandle;
        graphs().remove(graph);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    return call("cudaGraphExecDestroy", [&]() -> cudaError_t {
        if (!executable)
            return cudaErrorInvalidValue;
        if (!executables().find(executable, "cudaGraphExecDestroy"))
            return cudaErrorInvalidResourceHandle;
        executables().remove(executable); // launches that are queued keep what they need
        return cudaSuccess;
    });
}

} // extern "C"
