#include "tests/support/cuda_emulation/runtime/events.h"

#include <chrono>
#include <utility>

#include "tests/support/cuda_emulation/runtime/call.h"
#include "tests/support/cuda_emulation/runtime/captures.h"

namespace vergence::emulation {

Handles<Event>& events()
{
    static auto* all = new Handles<Event>(2, "an event");
    return *all;
}

namespace {

double secondsNow()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

cudaError_t create(cudaEvent_t* handle, unsigned flags)
{
    constexpr unsigned kKnown =
        cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    const bool isShared = flags & cudaEventInterprocess;
    if (!handle || (flags & ~kKnown) || (isShared && !(flags & cudaEventDisableTiming)))
        return cudaErrorInvalidValue;
    auto event = std::make_shared<Event>();
    event->device = currentDevice();
    event->flags = flags;
    if (isShared && !(event->counter = SharedCounter::make()))
        return cudaErrorMemoryAllocation;
    *handle = static_cast<cudaEvent_t>(events().add(std::move(event)));
    return cudaSuccess;
}

void recordInCapture(Event& event, const Stream& stream)
{
    event.recorded.reset();
    event.recording = stream.recording;
    event.tail = stream.tail;
}

void recordInQueue(Event& event, Stream& stream)
{
    event.recording.reset();
    auto recorded = std::make_shared<Recorded>();
    event.recorded = recorded;
    if (event.counter)
        event.counter->begin();
    issue(stream, [recorded] { recorded->seconds = secondsNow(); });
    recorded->mark = markOf(stream);
    if (event.counter) { // another process cannot make this one work
        finish(stream, stream.issued);
        event.counter->end();
    }
}

cudaError_t record(cudaEvent_t handle, cudaStream_t streamHandle, const char* function)
{
    const auto event = events().find(handle, function);
    if (!event)
        return cudaErrorInvalidResourceHandle;
    if (const int refusal = refusalOf(streamHandle, function))
        return static_cast<cudaError_t>(refusal);
    Stream& stream = streamOf(streamHandle);
    if (stream.device != event->device)
        return cudaErrorInvalidResourceHandle;
    if (!stream.recording) {
        recordInQueue(*event, stream);
        return cudaSuccess;
    }
    if (event->counter) {
        invalidate(*stream.recording, "an event between processes was recorded");
        return cudaErrorStreamCaptureUnsupported;
    }
    recordInCapture(*event, stream);
    return cudaSuccess;
}

/// Asking for an event of a capture is a fault whatever the thread's mode is.
cudaError_t refusalToAsk(const Event& event, const char* function)
{
    if (event.recording) {
        invalidate(*event.recording, function);
        return cudaErrorCapturedEvent;
    }
    return captureForbids(function);
}

bool isDone(const Event& event)
{
    if (event.recorded && !isReached(event.recorded->mark))
        return false;
    return !event.counter || event.counter->hasReached(event.counter->begun());
}

void waitFor(const Event& event)
{
    if (event.recorded)
        finish(*event.recorded->mark.stream, event.recorded->mark.number);
    if (event.counter)
        event.counter->waitFor(event.counter->begun());
}

cudaError_t elapsed(float* milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (!milliseconds)
        return cudaErrorInvalidValue;
    const auto first = events().find(from, "cudaEventElapsedTime");
    const auto last = events().find(to, "cudaEventElapsedTime");
    if (!first || !last || first->device != last->device || !first->recorded || !last->recorded ||
        ((first->flags | last->flags) & cudaEventDisableTiming))
        return cudaErrorInvalidResourceHandle;
    if (!isDone(*first) || !isDone(*last))
        return cudaErrorNotReady;
    *milliseconds = static_cast<float>(1000 * (last->recorded->seconds - first->recorded->seconds));
    return cudaSuccess;
}

/// A stream begins to be captured, or goes on after another one that is.
cudaError_t waitInCapture(Stream& stream, const Event& event)
{
    Recording& recording = *event.recording;
    if (recording.hasEnded)
        return cudaErrorCapturedEvent;
    if (!recording.invalidated.empty())
        return cudaErrorStreamCaptureInvalidated;
    if (stream.recording && stream.recording != event.recording) {
        invalidate(recording, "an event of another capture was waited for");
        invalidate(*stream.recording, "an event of another capture was waited for");
        return cudaErrorStreamCaptureMerge;
    }
    if (&stream == &defaultStream(stream.device)) {
        invalidate(recording, "the default stream cannot be captured");
        return cudaErrorStreamCaptureUnsupported;
    }
    stream.recording = event.recording;
    joinSteps(stream.tail, event.tail);
    return cudaSuccess;
}

cudaError_t wait(cudaStream_t handle, cudaEvent_t eventHandle, unsigned flags)
{
    if (flags & ~unsigned{cudaEventWaitExternal})
        return cudaErrorInvalidValue;
    const auto event = events().find(eventHandle, "cudaStreamWaitEvent");
    if (!event)
        return cudaErrorInvalidResourceHandle;
    if (const int refusal = refusalOf(handle, "cudaStreamWaitEvent"))
        return static_cast<cudaError_t>(refusal);
    Stream& stream = streamOf(handle);
    if (event->recording)
        return waitInCapture(stream, *event);
    const bool hasCount = event->counter && event->counter->begun() > 0;
    if (stream.recording && (event->recorded || hasCount)) {
        invalidate(*stream.recording, "an event from outside of the capture was waited for");
        return cudaErrorStreamCaptureIsolation;
    }
    if (event->recorded)
        issueWait(stream, event->recorded->mark);
    if (hasCount) {
        const auto counter = event->counter;
        issue(stream, [counter, count = counter->begun()] { counter->waitFor(count); });
    }
    return cudaSuccess;
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event)
{
    return call("cudaEventCreate", [&] { return create(event, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags)
{
    return call("cudaEventCreateWithFlags", [&] { return create(event, flags); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return call("cudaEventRecord", [&] { return record(event, stream, "cudaEventRecord"); });
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    return call("cudaEventQuery", [&]() -> cudaError_t {
        const auto event = events().find(handle, "cudaEventQuery");
        if (!event)
            return cudaErrorInvalidResourceHandle;
        if (const cudaError_t error = refusalToAsk(*event, "cudaEventQuery"); error != cudaSuccess)
            return error;
        if (isDone(*event))
            return cudaSuccess;
        if (event->recorded) // so that a loop that asks comes to its end
            finish(*event->recorded->mark.stream, event->recorded->mark.number);
        return cudaErrorNotReady;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    return call("cudaEventSynchronize", [&]() -> cudaError_t {
        const auto event = events().find(handle, "cudaEventSynchronize");
        if (!event)
            return cudaErrorInvalidResourceHandle;
        const cudaError_t error = refusalToAsk(*event, "cudaEventSynchronize");
        if (error == cudaSuccess)
            waitFor(*event);
        return error;
    });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    return call("cudaEventElapsedTime", [&] { return elapsed(milliseconds, from, to); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return call("cudaEventDestroy", [&]() -> cudaError_t {
        if (!events().find(event, "cudaEventDestroy"))
            return cudaErrorInvalidResourceHandle;
        events().remove(event); // waits for it that are queued keep what they need
        return cudaSuccess;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    return call("cudaStreamWaitEvent", [&] { return wait(stream, event, flags); });
}

} // extern "C"
