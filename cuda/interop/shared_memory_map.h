#pragma once

#include <array>
#include <cstddef>
#include <map>

#include <cuda_runtime.h>

#include "core/view/frame.h"

namespace vergence {

/// Device memory and events of other processes, opened once per handle. Opening is slow
/// (milliseconds), frames are many.
class SharedMemoryMap {
public:
    SharedMemoryMap() = default;
    ~SharedMemoryMap();
    SharedMemoryMap(const SharedMemoryMap&) = delete;
    SharedMemoryMap& operator=(const SharedMemoryMap&) = delete;

    /// Address of the slot in this process. Throws DeviceError.
    const std::byte* pixels(const SharedPixels& shared);
    /// Makes `stream` wait until the slot has been written. Throws DeviceError.
    void waitFor(const SharedPixels& shared, cudaStream_t stream);

private:
    using Handle = std::array<std::byte, 64>;
    std::map<Handle, std::byte*> m_memory;
    std::map<Handle, cudaEvent_t> m_events;
};

} // namespace vergence
