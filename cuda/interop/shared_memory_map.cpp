#include "cuda/interop/shared_memory_map.h"

#include <cstring>

#include "cuda/interop/check.h"

namespace vergence {

SharedMemoryMap::~SharedMemoryMap()
{
    for (const auto& [handle, event] : m_events)
        cudaEventDestroy(event);
    for (const auto& [handle, memory] : m_memory)
        cudaIpcCloseMemHandle(memory);
}

const std::byte* SharedMemoryMap::pixels(const SharedPixels& shared)
{
    auto found = m_memory.find(shared.memoryHandle);
    if (found == m_memory.end()) {
        cudaIpcMemHandle_t handle;
        static_assert(sizeof(handle) == sizeof(shared.memoryHandle));
        std::memcpy(&handle, shared.memoryHandle.data(), sizeof(handle));
        void* memory = nullptr;
        checkInterop(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
                     "Opening the preview memory of a run");
        found = m_memory.emplace(shared.memoryHandle, static_cast<std::byte*>(memory)).first;
    }
    return found->second + shared.offset;
}

void SharedMemoryMap::waitFor(const SharedPixels& shared, cudaStream_t stream)
{
    auto found = m_events.find(shared.eventHandle);
    if (found == m_events.end()) {
        cudaIpcEventHandle_t handle;
        static_assert(sizeof(handle) == sizeof(shared.eventHandle));
        std::memcpy(&handle, shared.eventHandle.data(), sizeof(handle));
        cudaEvent_t event = nullptr;
        checkInterop(cudaIpcOpenEventHandle(&event, handle), "Opening the preview event of a run");
        found = m_events.emplace(shared.eventHandle, event).first;
    }
    checkInterop(cudaStreamWaitEvent(stream, found->second, 0), "Waiting for a preview");
}

} // namespace vergence
