#include "tests/support/cuda_emulation/runtime/captures.h"

#include <algorithm>
#include <string>
#include <thread>

#include "tests/support/cuda_emulation/runtime/call.h"

namespace vergence::emulation {

namespace {

thread_local cudaStreamCaptureMode threadMode = cudaStreamCaptureModeGlobal;

/// Whether a call that this capture could not see must not be made by the calling thread.
bool forbids(const Recording& recording)
{
    if (recording.thread == std::this_thread::get_id())
        return recording.mode != cudaStreamCaptureModeRelaxed;
    return threadMode == cudaStreamCaptureModeGlobal &&
           recording.mode == cudaStreamCaptureModeGlobal;
}

/// Steps that come before `last` by what they follow, and those themselves.
std::vector<bool> stepsBefore(const Recording& recording, const std::vector<std::size_t>& last)
{
    std::vector<bool> isBefore(recording.steps.size());
    for (const std::size_t step : last)
        isBefore[step] = true;
    for (std::size_t step = recording.steps.size(); step-- > 0;) {
        if (!isBefore[step])
            continue;
        for (const std::size_t earlier : recording.steps[step].after)
            isBefore[earlier] = true;
    }
    return isBefore;
}

bool isJoined(const Stream& stream, const std::vector<bool>& isBeforeEnd)
{
    return std::all_of(stream.tail.begin(), stream.tail.end(),
                       [&](std::size_t step) { return isBeforeEnd[step]; });
}

/// Takes all streams out of the capture. False where one of them was not joined back.
bool releaseStreams(const Stream& origin)
{
    const std::shared_ptr<Recording> recording = origin.recording;
    const std::vector<bool> isBeforeEnd = stepsBefore(*recording, origin.tail);
    bool areJoined = true;
    for (const auto& stream : allStreams()) {
        if (stream->recording != recording)
            continue;
        areJoined = areJoined && isJoined(*stream, isBeforeEnd);
        stream->recording.reset();
        stream->tail.clear();
    }
    return areJoined;
}

} // namespace

void invalidate(Recording& recording, const char* reason)
{
    if (recording.invalidated.empty())
        recording.invalidated = reason;
}

void joinSteps(std::vector<std::size_t>& steps, const std::vector<std::size_t>& more)
{
    for (const std::size_t step : more) {
        if (std::find(steps.begin(), steps.end(), step) == steps.end())
            steps.push_back(step);
    }
}

cudaError_t captureForbids(const char* function)
{
    if (threadMode == cudaStreamCaptureModeRelaxed)
        return cudaSuccess;
    cudaError_t refusal = cudaSuccess;
    for (const auto& stream : allStreams()) {
        if (!stream->recording || !forbids(*stream->recording))
            continue;
        invalidate(*stream->recording, function);
        refusal = cudaErrorStreamCaptureUnsupported;
    }
    return refusal;
}

cudaError_t beginCapture(Stream& stream, cudaStreamCaptureMode mode)
{
    if (&stream == &defaultStream(stream.device))
        return cudaErrorStreamCaptureUnsupported;
    if (stream.recording)
        return cudaErrorIllegalState;
    auto recording = std::make_shared<Recording>();
    recording->origin = &stream;
    recording->mode = mode;
    recording->thread = std::this_thread::get_id();
    stream.recording = std::move(recording);
    stream.tail.clear();
    return cudaSuccess;
}

cudaError_t endCapture(Stream& stream, std::shared_ptr<const Recording>& result)
{
    const std::shared_ptr<Recording> recording = stream.recording;
    if (!recording)
        return cudaErrorIllegalState;
    if (recording->origin != &stream) {
        invalidate(*recording, "ended on a stream where it did not begin");
        return cudaErrorStreamCaptureUnmatched;
    }
    if (recording->mode != cudaStreamCaptureModeRelaxed &&
        recording->thread != std::this_thread::get_id())
        return cudaErrorStreamCaptureWrongThread;
    const bool areJoined = releaseStreams(stream);
    recording->hasEnded = true;
    if (!recording->invalidated.empty())
        return cudaErrorStreamCaptureInvalidated;
    if (!areJoined)
        return cudaErrorStreamCaptureUnjoined;
    result = recording;
    return cudaSuccess;
}

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode)
{
    return question("cudaThreadExchangeStreamCaptureMode", [&]() -> cudaError_t {
        if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
            return cudaErrorInvalidValue;
        std::swap(*mode, threadMode);
        return cudaSuccess;
    });
}
