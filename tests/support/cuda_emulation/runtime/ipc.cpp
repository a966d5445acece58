#include <cstring>
#include <map>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <unistd.h>

#include "tests/support/cuda_emulation/engine/device_memory.h"
#include "tests/support/cuda_emulation/engine/streams.h"
#include "tests/support/cuda_emulation/runtime/call.h"
#include "tests/support/cuda_emulation/runtime/events.h"

namespace vergence::emulation {

namespace {

/// A place in another process as the bytes of a handle, and back. Programs compare them: equal
/// places are equal bytes.
template <class Place>
struct Packed {
    static constexpr std::uint64_t kMark = 0x7665'7267'656e'6365; ///< none of other bytes' making
    std::uint64_t mark = kMark;
    Place place;
};

template <class Handle, class Place>
void pack(Handle& handle, const Place& place)
{
    static_assert(sizeof(Packed<Place>) <= sizeof(handle.reserved));
    static_assert(std::has_unique_object_representations_v<Packed<Place>>);
    const Packed<Place> packed{Packed<Place>::kMark, place};
    std::memset(&handle, 0, sizeof(handle));
    std::memcpy(handle.reserved, &packed, sizeof(packed));
}

template <class Place, class Handle>
bool unpack(const Handle& handle, Place& place)
{
    Packed<Place> packed{};
    std::memcpy(&packed, handle.reserved, sizeof(packed));
    place = packed.place;
    return packed.mark == Packed<Place>::kMark;
}

/// Memory that is open here, by what names it there.
struct OpenedMemory {
    SharedPlace place;
    int uses = 0;
};
std::map<void*, OpenedMemory>& openedMemory()
{
    static auto* all = new std::map<void*, OpenedMemory>;
    return *all;
}

bool isSame(const SharedPlace& a, const SharedPlace& b)
{
    return a.process == b.process && a.file == b.file && a.serial == b.serial;
}

cudaError_t openMemory(void** pointer, const SharedPlace& place)
{
    if (place.process == getpid())
        return cudaErrorDeviceUninitialized; // as CUDA calls its own process's handles
    for (auto& [memory, opened] : openedMemory()) {
        if (!isSame(opened.place, place))
            continue;
        ++opened.uses;
        *pointer = memory;
        return cudaSuccess;
    }
    void* const memory = importPlace(place);
    if (!memory)
        return cudaErrorMapBufferObjectFailed;
    openedMemory()[memory] = {place, 1};
    *pointer = memory;
    return cudaSuccess;
}

cudaError_t openEvent(cudaEvent_t* handle, const SharedCounter::Place& place)
{
    if (place.process == getpid())
        return cudaErrorDeviceUninitialized;
    auto event = std::make_shared<Event>();
    event->counter = SharedCounter::open(place);
    if (!event->counter)
        return cudaErrorMapBufferObjectFailed;
    event->device = currentDevice();
    event->flags = cudaEventDisableTiming | cudaEventInterprocess;
    *handle = static_cast<cudaEvent_t>(events().add(std::move(event)));
    return cudaSuccess;
}

} // namespace

} // namespace vergence::emulation

using namespace vergence::emulation;

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer)
{
    return call("cudaIpcGetMemHandle", [&]() -> cudaError_t {
        const auto place = sharedPlaceOf(pointer);
        if (!handle || !place)
            return cudaErrorInvalidValue;
        pack(*handle, *place);
        return cudaSuccess;
    });
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags)
{
    return unsafeCall("cudaIpcOpenMemHandle", [&]() -> cudaError_t {
        SharedPlace place;
        if (!pointer || flags != cudaIpcMemLazyEnablePeerAccess || !unpack(handle, place))
            return cudaErrorInvalidValue;
        return openMemory(pointer, place);
    });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer)
{
    return unsafeCall("cudaIpcCloseMemHandle", [&]() -> cudaError_t {
        const auto found = openedMemory().find(pointer);
        if (found == openedMemory().end())
            return cudaErrorInvalidValue;
        if (--found->second.uses > 0)
            return cudaSuccess;
        finishAll(); // work that still uses it
        releaseImported(pointer);
        openedMemory().erase(found);
        return cudaSuccess;
    });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event)
{
    return call("cudaIpcGetEventHandle", [&]() -> cudaError_t {
        if (!handle)
            return cudaErrorInvalidValue;
        const auto found = events().find(event, "cudaIpcGetEventHandle");
        if (!found || !found->counter || found->counter->place().process != getpid())
            return cudaErrorInvalidResourceHandle;
        pack(*handle, found->counter->place());
        return cudaSuccess;
    });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle)
{
    return unsafeCall("cudaIpcOpenEventHandle", [&]() -> cudaError_t {
        SharedCounter::Place place;
        if (!event || !unpack(handle, place))
            return cudaErrorInvalidValue;
        return openEvent(event, place);
    });
}

} // extern "C"
