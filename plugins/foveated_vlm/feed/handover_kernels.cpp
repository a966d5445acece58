#include "plugins/foveated_vlm/feed/handover.h"

#include "core/compute/launch.h"

namespace vergence::fvlm {

namespace {

#if defined(__CUDACC__)

void expectDone(cudaError_t error, const char* what)
{
    if (error != cudaSuccess)
        throw DeviceError(std::string(what) + ": " + cudaGetErrorString(error) + ".");
}

/// Memory that cannot be pinned is copied through the driver's own; slower, not wrong.
void pinMemory(Stream& stream, void* memory, std::size_t bytes)
{
    stream.native(); // makes its device current on this thread
    if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) != cudaSuccess)
        cudaGetLastError();
}

void unpinMemory(Stream& stream, void* memory)
{
    stream.native();
    if (cudaHostUnregister(memory) != cudaSuccess)
        cudaGetLastError();
}

void recordMark(Stream& stream, void*& mark)
{
    const auto native = static_cast<cudaStream_t>(stream.native());
    if (!mark) {
        cudaEvent_t event = nullptr;
        expectDone(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "Creating an event");
        mark = event;
    }
    expectDone(cudaEventRecord(static_cast<cudaEvent_t>(mark), native), "Recording an event");
}

void awaitMark(Stream& stream, void* mark)
{
    if (mark)
        expectDone(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream.native()),
                                       static_cast<cudaEvent_t>(mark), 0),
                   "Waiting for an event");
}

void reachMark(Stream&, void* mark)
{
    if (mark)
        expectDone(cudaEventSynchronize(static_cast<cudaEvent_t>(mark)), "Waiting for an event");
}

void removeMark(Stream&, void* mark)
{
    if (mark)
        cudaEventDestroy(static_cast<cudaEvent_t>(mark));
}

#else

void pinMemory(Stream&, void*, std::size_t) {}
void unpinMemory(Stream&, void*) {}
void recordMark(Stream&, void*&) {}
void awaitMark(Stream&, void*) {}
void reachMark(Stream&, void*) {}
void removeMark(Stream&, void*) {}

#endif

} // namespace

VERGENCE_REGISTER_KERNEL(pinMemoryKernel, pinMemory)
VERGENCE_REGISTER_KERNEL(unpinMemoryKernel, unpinMemory)
VERGENCE_REGISTER_KERNEL(recordMarkKernel, recordMark)
VERGENCE_REGISTER_KERNEL(awaitMarkKernel, awaitMark)
VERGENCE_REGISTER_KERNEL(reachMarkKernel, reachMark)
VERGENCE_REGISTER_KERNEL(removeMarkKernel, removeMark)

} // namespace vergence::fvlm
