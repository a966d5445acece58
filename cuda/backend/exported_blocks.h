#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime.h>

namespace vergence {

/// Device memory of three slots that other processes may open, with one interprocess event per
/// slot.
class ExportedBlock {
public:
    static constexpr int kSlots = 3;

    /// Throws DeviceError; the device is current. What was exported stays until the end of the
    /// process, see ExportedBlocks.
    explicit ExportedBlock(std::size_t slotBytes);
    ExportedBlock(const ExportedBlock&) = delete;
    ExportedBlock& operator=(const ExportedBlock&) = delete;

    std::size_t slotBytes() const { return m_slotBytes; }
    std::byte* slot(int index) const { return m_memory + index * m_slotBytes; }
    cudaEvent_t event(int index) const { return m_events[index]; }
    const cudaIpcMemHandle_t& memoryHandle() const { return m_memoryHandle; }
    const cudaIpcEventHandle_t& eventHandle(int index) const { return m_eventHandles[index]; }
    /// The slot that was written longest ago; the next call names the one after.
    int nextSlot();

private:
    void free() noexcept;

    std::size_t m_slotBytes;
    std::byte* m_memory = nullptr;
    std::array<cudaEvent_t, kSlots> m_events{};
    cudaIpcMemHandle_t m_memoryHandle{};
    std::array<cudaIpcEventHandle_t, kSlots> m_eventHandles{};
    int m_next = 0;
};

/// The exported blocks of a device. Memory that another process may have open must not be freed,
/// nor its events destroyed (CUDA Runtime API, cudaIpcOpenMemHandle and cudaIpcOpenEventHandle),
/// and nobody tells when it was closed: what a stream no longer needs waits here for another of
/// about its size. Thread-safe.
class ExportedBlocks {
public:
    explicit ExportedBlocks(int deviceIndex) : m_device(deviceIndex) {}

    /// A block with at least `slotBytes` per slot. Throws DeviceError.
    std::unique_ptr<ExportedBlock> take(std::size_t slotBytes);
    void giveBack(std::unique_ptr<ExportedBlock> block);

private:
    int m_device;
    std::mutex m_mutex;
    std::vector<std::unique_ptr<ExportedBlock>> m_kept;
};

} // namespace vergence
