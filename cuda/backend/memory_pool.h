#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace vergence {

/// Keeps returned blocks by size class for the next request, so that a training step allocates
/// nothing after warm-up and addresses repeat. Size classes waste at most an eighth. Thread-safe.
///
/// A block may be handed out again while queued work still reads it; that work must be on the same
/// stream, as it is with one stream per run. Other streams synchronise before they return memory.
class MemoryPool {
public:
    explicit MemoryPool(int deviceIndex) : m_device(deviceIndex) {}
    ~MemoryPool();
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    /// Throws DeviceError with exit code 5 when the card is exhausted, after giving back everything
    /// kept.
    void* allocate(std::size_t bytes);
    void deallocate(void* pointer, std::size_t bytes) noexcept;

    std::size_t used() const;
    std::size_t peak() const;

    /// Bytes that a request of `bytes` occupies.
    static std::size_t sizeClass(std::size_t bytes);

private:
    void releaseKept() noexcept;

    int m_device;
    mutable std::mutex m_mutex;
    std::map<std::size_t, std::vector<void*>> m_kept;
    std::size_t m_used = 0, m_peak = 0;
};

} // namespace vergence
