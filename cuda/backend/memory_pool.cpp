#include "cuda/backend/memory_pool.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

/// The last block of a size that was returned; null where there is none.
void* pop(std::map<std::size_t, std::vector<void*>>& blocks, std::size_t size)
{
    const auto kept = blocks.find(size);
    if (kept == blocks.end() || kept->second.empty())
        return nullptr;
    void* block = kept->second.back();
    kept->second.pop_back();
    return block;
}

} // namespace

BlockSource::~BlockSource() = default;

std::size_t MemoryPool::sizeClass(std::size_t bytes)
{
    constexpr std::size_t kSmallest = 256, kLargest = std::size_t{1} << 60;
    if (bytes <= kSmallest)
        return kSmallest;
    if (bytes > kLargest) // no memory is so large, and rounding up would overflow
        return bytes;
    const std::size_t step = std::max(kSmallest, std::bit_ceil(bytes) / 16);
    return (bytes + step - 1) / step * step;
}

MemoryPool::MemoryPool(std::unique_ptr<BlockSource> source) : m_source(std::move(source)) {}

MemoryPool::~MemoryPool()
{
    m_recordings.clear();
    releaseKept();
}

void* MemoryPool::allocate(std::size_t bytes)
{
    const std::size_t size = sizeClass(bytes);
    const std::lock_guard lock(m_mutex);
    Reserved* const recorded = recordedHere();
    void* block = recorded ? pop(recorded->m_blocks, size) : nullptr;
    if (!block)
        block = fromKept(size);
    if (!block)
        block = fromSource(size);
    m_used += size;
    m_peak = std::max(m_peak, m_used);
    return block;
}

/// What this thread may write into at once; null where there is none of the size.
void* MemoryPool::fromKept(std::size_t size)
{
    const auto own = m_kept.find(thisThread());
    if (own == m_kept.end())
        return pop(m_settled, size);
    void* block = pop(own->second.blocks, size);
    if (!block)
        return pop(m_settled, size);
    own->second.bytes -= size;
    return block;
}

void* MemoryPool::fromSource(std::size_t size)
{
    const bool mayWait = m_recordings.empty(); // waiting for the device is what a recording forbids
    void* block = nullptr;
    if (mayWait && othersKeepMuch(size)) {
        settle();
        block = pop(m_settled, size);
    }
    if (!block)
        block = m_source->take(size);
    if (!block && mayWait) {
        settle();
        block = pop(m_settled, size);
        if (!block) {
            releaseKept();
            block = m_source->take(size);
        }
    }
    if (!block)
        throw DeviceError(fmt::format("The GPU ran out of memory: {:.1f} MiB were wanted, {}. "
                                      "Choose smaller sizes or another device.",
                                      static_cast<double>(size) / (1 << 20), m_source->room()),
                          ExitCode::OutOfMemory);
    return block;
}

/// More than kMostKeptApart, and a block of `size` among it.
bool MemoryPool::othersKeepMuch(std::size_t size) const
{
    std::size_t bytes = 0;
    bool hasSize = false;
    for (const auto& [thread, kept] : m_kept) {
        if (thread == thisThread())
            continue;
        bytes += kept.bytes;
        const auto blocks = kept.blocks.find(size);
        hasSize = hasSize || (blocks != kept.blocks.end() && !blocks->second.empty());
    }
    return hasSize && bytes > kMostKeptApart;
}

/// Waits for all queued work; what is kept is everybody's then.
void MemoryPool::settle()
{
    m_source->settle();
    for (auto& [thread, kept] : m_kept) {
        for (auto& [size, blocks] : kept.blocks) {
            auto& settled = m_settled[size];
            settled.insert(settled.end(), blocks.begin(), blocks.end());
        }
    }
    m_kept.clear();
}

void MemoryPool::deallocate(void* pointer, std::size_t bytes) noexcept
{
    const std::size_t size = sizeClass(bytes);
    const std::lock_guard lock(m_mutex);
    if (Reserved* const recorded = recordedHere())
        recorded->m_blocks[size].push_back(pointer);
    else
        keep(size, pointer);
    m_used -= size;
}

void MemoryPool::keep(std::size_t size, void* block)
{
    Kept& kept = m_kept[thisThread()];
    kept.blocks[size].push_back(block);
    kept.bytes += size;
}

/// Of all threads that ever were: the system gives the id of one that ended to the next.
MemoryPool::Thread MemoryPool::thisThread()
{
    static std::atomic<Thread> last{0};
    thread_local const Thread own = ++last;
    return own;
}

/// What the calling thread records; null where it does not.
MemoryPool::Reserved* MemoryPool::recordedHere() const
{
    const auto found = m_recordings.find(thisThread());
    return found == m_recordings.end() ? nullptr : found->second.get();
}

MemoryPool::Thread MemoryPool::beginRecording()
{
    const std::lock_guard lock(m_mutex);
    expects(!recordedHere(), "MemoryPool: this thread records another launch graph");
    m_recordings[thisThread()] = std::make_unique<Reserved>(*this);
    return thisThread();
}

std::unique_ptr<MemoryPool::Reserved> MemoryPool::endRecording(Thread thread)
{
    const std::lock_guard lock(m_mutex);
    auto recording = m_recordings.extract(thread);
    return recording ? std::move(recording.mapped()) : nullptr;
}

MemoryPool::Reserved::~Reserved()
{
    const std::lock_guard lock(m_pool.m_mutex);
    for (const auto& [size, blocks] : m_blocks) {
        for (void* block : blocks)
            m_pool.keep(size, block);
    }
}

void MemoryPool::releaseKept() noexcept
{
    const auto giveBack = [this](const Blocks& bySize) {
        for (const auto& [size, blocks] : bySize) {
            for (void* block : blocks)
                m_source->giveBack(block);
        }
    };
    for (const auto& [thread, kept] : m_kept)
        giveBack(kept.blocks);
    m_kept.clear();
    giveBack(m_settled);
    m_settled.clear();
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
