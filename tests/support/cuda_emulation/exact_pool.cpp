// The pool of device memory without the pool: each request gets a block of exactly its bytes, so
// that accesses beyond a tensor are found, and what is returned goes back after all queued work.

#include "cuda/backend/memory_pool.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

BlockSource::~BlockSource() = default;

MemoryPool::MemoryPool(std::unique_ptr<BlockSource> source) : m_source(std::move(source)) {}
MemoryPool::~MemoryPool() = default;

MemoryPool::Thread MemoryPool::thisThread()
{
    static std::atomic<Thread> last{0};
    thread_local const Thread own = ++last;
    return own;
}

void* MemoryPool::allocate(std::size_t bytes)
{
    const std::lock_guard lock(m_mutex);
    void* block = m_source->take(std::max<std::size_t>(bytes, 1));
    if (!block)
        throw DeviceError(fmt::format("The GPU ran out of memory: {:.1f} MiB were wanted, {}.",
                                      static_cast<double>(bytes) / (1 << 20), m_source->room()),
                          ExitCode::OutOfMemory);
    m_used += bytes;
    m_peak = std::max(m_peak, m_used);
    return block;
}

void MemoryPool::deallocate(void* pointer, std::size_t bytes) noexcept
{
    if (!pointer)
        return;
    const std::lock_guard lock(m_mutex);
    m_used -= bytes;
    if (const auto found = m_recordings.find(thisThread()); found != m_recordings.end())
        found->second->m_blocks[bytes].push_back(pointer); // a graph works in it
    else
        m_source->giveBack(pointer);
}

MemoryPool::Reserved::~Reserved()
{
    const std::lock_guard lock(m_pool.m_mutex);
    for (const auto& [bytes, blocks] : m_blocks) {
        for (void* block : blocks)
            m_pool.m_source->giveBack(block);
    }
}

MemoryPool::Thread MemoryPool::beginRecording()
{
    const std::lock_guard lock(m_mutex);
    m_recordings[thisThread()] = std::make_unique<Reserved>(*this);
    return thisThread();
}

std::unique_ptr<MemoryPool::Reserved> MemoryPool::endRecording(Thread thread)
{
    const std::lock_guard lock(m_mutex);
    auto recording = m_recordings.extract(thread);
    return recording ? std::move(recording.mapped()) : nullptr;
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

std::size_t MemoryPool::sizeClass(std::size_t bytes)
{
    return bytes;
}

} // namespace vergence
