#include "cuda/backend/shared_slots.h"

#include <cstring>

#include "core/compute/stream.h"
#include "cuda/backend/check.h"

namespace vergence {

CudaSharedSlots::CudaSharedSlots(Device& device, std::size_t slotBytes)
    : m_device(device),
      m_slotBytes((slotBytes + 511) / 512 * 512)
{
    const CurrentDevice current(device.info().index);
    // Not from the pool: the whole allocation is opened by the other process.
    checkCuda(cudaMalloc(reinterpret_cast<void**>(&m_memory), kSlots * m_slotBytes),
              "Allocating preview slots");
    checkCuda(cudaIpcGetMemHandle(&m_memoryHandle, m_memory), "Exporting preview slots");
    for (int i = 0; i < kSlots; ++i) {
        checkCuda(
            cudaEventCreateWithFlags(&m_events[i], cudaEventInterprocess | cudaEventDisableTiming),
            "Creating a preview event");
        checkCuda(cudaIpcGetEventHandle(&m_eventHandles[i], m_events[i]),
                  "Exporting a preview event");
    }
}

CudaSharedSlots::~CudaSharedSlots()
{
    for (cudaEvent_t event : m_events) {
        if (event)
            cudaEventDestroy(event);
    }
    cudaFree(m_memory);
}

SharedPixels CudaSharedSlots::write(Stream& stream, const void* pixels, std::size_t bytes)
{
    expects(bytes <= m_slotBytes, "SharedSlots::write: the frame is larger than a slot");
    const int slot = m_next;
    m_next = (m_next + 1) % kSlots;
    const auto native = static_cast<cudaStream_t>(stream.native());
    checkCuda(cudaMemcpyAsync(m_memory + slot * m_slotBytes, pixels, bytes,
                              cudaMemcpyDeviceToDevice, native),
              "Copying a preview");
    checkCuda(cudaEventRecord(m_events[slot], native), "Marking a preview");

    SharedPixels shared;
    shared.deviceUuid = m_device.info().uuid;
    shared.offset = static_cast<std::uint64_t>(slot) * m_slotBytes;
    static_assert(sizeof(m_memoryHandle) == sizeof(shared.memoryHandle));
    static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(shared.eventHandle));
    std::memcpy(shared.memoryHandle.data(), &m_memoryHandle, sizeof(m_memoryHandle));
    std::memcpy(shared.eventHandle.data(), &m_eventHandles[slot], sizeof(cudaIpcEventHandle_t));
    return shared;
}

} // namespace vergence
