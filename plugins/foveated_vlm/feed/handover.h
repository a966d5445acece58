#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/compute/kernel.h"

namespace vergence::fvlm {

// What copies beside running kernels need of CUDA. On the CPU all of these do nothing: there work
// is done when a call returns.

/// Pins memory of the host, so that copies from it run by themselves.
inline const Kernel<void(void*, std::size_t)> pinMemoryKernel{"fvlm.pin_memory"};
inline const Kernel<void(void*)> unpinMemoryKernel{"fvlm.unpin_memory"};
/// Marks a place in the stream; makes the mark where it is null.
inline const Kernel<void(void*&)> recordMarkKernel{"fvlm.record_mark"};
/// Lets the stream, or the calling thread, wait for a mark; nothing where it is null.
inline const Kernel<void(void*)> awaitMarkKernel{"fvlm.await_mark"};
inline const Kernel<void(void*)> reachMarkKernel{"fvlm.reach_mark"};
inline const Kernel<void(void*)> removeMarkKernel{"fvlm.remove_mark"};

/// Memory of the host for copies to the device of a stream, pinned where it has use of that.
class CopyMemory {
public:
    CopyMemory() = default;
    ~CopyMemory() { release(); }
    CopyMemory(const CopyMemory&) = delete;
    CopyMemory& operator=(const CopyMemory&) = delete;

    /// At least `bytes`; what was there is lost where it grows. The stream outlives this memory.
    void reserve(Stream& stream, std::size_t bytes);
    std::byte* data() const { return m_data; }

private:
    void release();

    Stream* m_stream = nullptr;
    std::byte* m_data = nullptr;
    std::size_t m_bytes = 0;
};

} // namespace vergence::fvlm
