#include "cuda/backend/memory_pool.h"

#include <algorithm>
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
    m_recording.reset();
    releaseKept();
}

void* MemoryPool::allocate(std::size_t bytes)
{
    const std::size_t size = sizeClass(bytes);
    const std::lock_guard lock(m_mutex);
    void* block = isRecordingHere() ? pop(m_recording->m_blocks, size) : nullptr;
    if (!block)
        block = pop(m_kept[std::this_thread::get_id()], size);
    if (!block)
        block = fromSource(size);
    m_used += size;
    m_peak = std::max(m_peak, m_used);
    return block;
}

void* MemoryPool::fromSource(std::size_t size)
{
    void* block = m_source->take(size);
    if (!block && !m_recording) { // both wait for the device, which a recording forbids
        block = fromOthers(size);
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

void* MemoryPool::fromOthers(std::size_t size)
{
    const auto has = std::ranges::find_if(m_kept, [&](const auto& kept) {
        const auto blocks = kept.second.find(size);
        return blocks != kept.second.end() && !blocks->second.empty();
    });
    if (has == m_kept.end())
        return nullptr;
    m_source->settle();
    return pop(has->second, size);
}

void MemoryPool::deallocate(void* pointer, std::size_t bytes) noexcept
{
    const std::size_t size = sizeClass(bytes);
    const std::lock_guard lock(m_mutex);
    Blocks& blocks = isRecordingHere() ? m_recording->m_blocks : m_kept[std::this_thread::get_id()];
    blocks[size].push_back(pointer);
    m_used -= size;
}

bool MemoryPool::isRecordingHere() const
{
    return m_recording && m_recorder == std::this_thread::get_id();
}

void MemoryPool::beginRecording()
{
    const std::lock_guard lock(m_mutex);
    expects(!m_recording, "MemoryPool: another stream of this device records a launch graph");
    m_recording = std::make_unique<Reserved>(*this);
    m_recorder = std::this_thread::get_id();
}

std::unique_ptr<MemoryPool::Reserved> MemoryPool::endRecording()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_recording, nullptr);
}

MemoryPool::Reserved::~Reserved()
{
    const std::lock_guard lock(m_pool.m_mutex);
    for (auto& [size, blocks] : m_blocks) {
        auto& kept = m_pool.m_kept[std::this_thread::get_id()][size];
        kept.insert(kept.end(), blocks.begin(), blocks.end());
    }
}

void MemoryPool::releaseKept() noexcept
{
    for (auto& [thread, bySize] : m_kept) {
        for (auto& [size, blocks] : bySize) {
            for (void* block : blocks)
                m_source->giveBack(block);
        }
    }
    m_kept.clear();
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
