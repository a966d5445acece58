#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include <cuda_runtime.h>

#include "core/view/frame.h"

namespace vergence {

/// Device memory and events of other processes, opened once per handle: opening is slow
/// (milliseconds), frames are many. What was not used for long is closed again, since memory that
/// is open here stays allocated after its run. The device is current on the calling thread.
class SharedMemoryMap {
public:
    SharedMemoryMap() = default;
    ~SharedMemoryMap() { clear(); }
    SharedMemoryMap(const SharedMemoryMap&) = delete;
    SharedMemoryMap& operator=(const SharedMemoryMap&) = delete;

    /// Whether the slot has been written; never waits. Throws DeviceError.
    bool isWritten(const SharedPixels& shared);
    /// Address of the slot in this process. Throws DeviceError.
    const std::byte* pixels(const SharedPixels& shared);
    /// Makes `stream` wait until the slot has been written. Throws DeviceError.
    void waitFor(const SharedPixels& shared, cudaStream_t stream);
    /// Closes everything; copies from it have ended before.
    void clear() noexcept;

private:
    using Handle = std::array<std::byte, 64>;
    template <class Resource>
    struct Open {
        Resource resource;
        std::uint64_t usedAt;
    };

    cudaEvent_t event(const SharedPixels& shared);

    std::map<Handle, Open<std::byte*>> m_memory;
    std::map<Handle, Open<cudaEvent_t>> m_events;
    std::uint64_t m_uses = 0;
};

} // namespace vergence
