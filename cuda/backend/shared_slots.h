#pragma once

#include <array>

#include <cuda_runtime.h>

#include "core/compute/device.h"

namespace vergence {

/// Three slots in one allocation exported through CUDA IPC, with one interprocess event per slot.
class CudaSharedSlots final : public SharedSlots {
public:
    CudaSharedSlots(Device& device, std::size_t slotBytes);
    ~CudaSharedSlots() override;
    CudaSharedSlots(const CudaSharedSlots&) = delete;
    CudaSharedSlots& operator=(const CudaSharedSlots&) = delete;

    std::size_t slotBytes() const override { return m_slotBytes; }
    SharedPixels write(Stream& stream, const void* pixels, std::size_t bytes) override;

private:
    static constexpr int kSlots = 3;

    Device& m_device;
    std::size_t m_slotBytes;
    std::byte* m_memory = nullptr;
    std::array<cudaEvent_t, kSlots> m_events{};
    cudaIpcMemHandle_t m_memoryHandle{};
    std::array<cudaIpcEventHandle_t, kSlots> m_eventHandles{};
    int m_next = 0;
};

} // namespace vergence
