#include "cuda/interop/shared_memory_map.h"

#include <algorithm>
#include <cstring>

#include "cuda/interop/check.h"

namespace vergence {

namespace {

constexpr std::size_t kMostMemory =
    16; ///< allocations open at once, each with the slots of a stream
constexpr std::size_t kMostEvents = 3 * kMostMemory;

/// Makes room for one more by closing what was used longest ago.
template <class Resources, class Close>
void makeRoom(Resources& resources, std::size_t most, Close close)
{
    if (resources.size() < most)
        return;
    cudaDeviceSynchronize(); // a copy from there may still be queued
    const auto oldest =
        std::min_element(resources.begin(), resources.end(), [](const auto& a, const auto& b) {
            return a.second.usedAt < b.second.usedAt;
        });
    close(oldest->second.resource);
    resources.erase(oldest);
}

} // namespace

void SharedMemoryMap::clear() noexcept
{
    for (const auto& [handle, open] : m_events)
        cudaEventDestroy(open.resource);
    for (const auto& [handle, open] : m_memory)
        cudaIpcCloseMemHandle(open.resource);
    m_events.clear();
    m_memory.clear();
}

const std::byte* SharedMemoryMap::pixels(const SharedPixels& shared)
{
    auto found = m_memory.find(shared.memoryHandle);
    if (found == m_memory.end()) {
        makeRoom(m_memory, kMostMemory, [](std::byte* memory) { cudaIpcCloseMemHandle(memory); });
        cudaIpcMemHandle_t handle;
        static_assert(sizeof(handle) == sizeof(shared.memoryHandle));
        std::memcpy(&handle, shared.memoryHandle.data(), sizeof(handle));
        void* memory = nullptr;
        checkInterop(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
                     "Opening the preview memory of a run");
        found =
            m_memory.emplace(shared.memoryHandle, Open{static_cast<std::byte*>(memory), 0ul}).first;
    }
    found->second.usedAt = ++m_uses;
    return found->second.resource + shared.offset;
}

cudaEvent_t SharedMemoryMap::event(const SharedPixels& shared)
{
    auto found = m_events.find(shared.eventHandle);
    if (found == m_events.end()) {
        makeRoom(m_events, kMostEvents, [](cudaEvent_t old) { cudaEventDestroy(old); });
        cudaIpcEventHandle_t handle;
        static_assert(sizeof(handle) == sizeof(shared.eventHandle));
        std::memcpy(&handle, shared.eventHandle.data(), sizeof(handle));
        cudaEvent_t opened = nullptr;
        checkInterop(cudaIpcOpenEventHandle(&opened, handle), "Opening the preview event of a run");
        found = m_events.emplace(shared.eventHandle, Open{opened, 0ul}).first;
    }
    found->second.usedAt = ++m_uses;
    return found->second.resource;
}

bool SharedMemoryMap::isWritten(const SharedPixels& shared)
{
    const cudaError_t state = cudaEventQuery(event(shared));
    if (state == cudaErrorNotReady) {
        cudaGetLastError(); // no error: it must not be found by the next call that asks
        return false;
    }
    checkInterop(state, "Asking for a preview");
    return true;
}

void SharedMemoryMap::waitFor(const SharedPixels& shared, cudaStream_t stream)
{
    checkInterop(cudaStreamWaitEvent(stream, event(shared), 0), "Waiting for a preview");
}

} // namespace vergence
