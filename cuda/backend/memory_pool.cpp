#include "cuda/backend/memory_pool.h"

#include <algorithm>
#include <bit>

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "cuda/backend/check.h"

namespace vergence {

std::size_t MemoryPool::sizeClass(std::size_t bytes)
{
    constexpr std::size_t kSmallest = 256;
    if (bytes <= kSmallest)
        return kSmallest;
    const std::size_t step = std::max(kSmallest, std::bit_ceil(bytes) / 16);
    return (bytes + step - 1) / step * step;
}

MemoryPool::~MemoryPool()
{
    releaseKept();
}

void* MemoryPool::allocate(std::size_t bytes)
{
    const std::size_t size = sizeClass(bytes);
    const std::lock_guard lock(m_mutex);
    void* pointer = nullptr;
    auto kept = m_kept.find(size);
    if (kept != m_kept.end() && !kept->second.empty()) {
        pointer = kept->second.back();
        kept->second.pop_back();
    } else {
        const CurrentDevice current(m_device);
        if (cudaMalloc(&pointer, size) != cudaSuccess) {
            cudaGetLastError();
            releaseKept();
            if (cudaMalloc(&pointer, size) != cudaSuccess) {
                cudaGetLastError();
                std::size_t free = 0, total = 0;
                cudaMemGetInfo(&free, &total);
                throw DeviceError(
                    fmt::format(
                        "The GPU ran out of memory: {:.1f} MiB were wanted, {:.1f} of {:.1f} GiB "
                        "are free. Choose smaller sizes or another device.",
                        static_cast<double>(size) / (1 << 20),
                        static_cast<double>(free) / (1 << 30),
                        static_cast<double>(total) / (1 << 30)),
                    ExitCode::OutOfMemory);
            }
        }
    }
    m_used += size;
    m_peak = std::max(m_peak, m_used);
    return pointer;
}

void MemoryPool::deallocate(void* pointer, std::size_t bytes) noexcept
{
    const std::size_t size = sizeClass(bytes);
    const std::lock_guard lock(m_mutex);
    m_kept[size].push_back(pointer);
    m_used -= size;
}

void MemoryPool::releaseKept() noexcept
{
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(m_device);
    for (auto& [size, blocks] : m_kept) {
        for (void* block : blocks)
            cudaFree(block);
        blocks.clear();
    }
    cudaSetDevice(before);
}

std::size_t MemoryPool::used() const
{
    const std::lock_guard lock(m_mutex);
    return m_used;
}

std::size_t MemoryPool::peak() const
{
    const std::lock_guard lock(m_mutex);
    return m_peak;
}

} // namespace vergence
