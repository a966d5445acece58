#include "core/compute/huge_page_heap.h"

#include <iterator>
#include <new>

#include <sys/mman.h>

namespace vergence {

namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::align_val_t kChunkAlignment{kHugePage};

std::size_t wholeUnits(std::size_t bytes)
{
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

thread_local int t_lasting = 0;

} // namespace

LastingBlocks::LastingBlocks()
{
    ++t_lasting;
}

LastingBlocks::~LastingBlocks()
{
    --t_lasting;
}

bool LastingBlocks::areTaken()
{
    return t_lasting > 0;
}

void adviseHugePages(void* pointer, std::size_t bytes)
{
    // Advice alone: where it is not taken, pages are small.
    static_cast<void>(::madvise(pointer, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
}

HugePageHeap::~HugePageHeap()
{
    for (std::byte* chunk : m_chunks)
        ::operator delete(chunk, kChunkAlignment);
}

void HugePageHeap::add(std::byte* place, std::size_t bytes)
{
    m_free.emplace(place, bytes);
    m_sizes.emplace(bytes, place);
}

void HugePageHeap::remove(std::map<std::byte*, std::size_t>::iterator range)
{
    m_sizes.erase({range->second, range->first});
    m_free.erase(range);
}

bool HugePageHeap::addChunk()
{
    auto* chunk = static_cast<std::byte*>(::operator new(kChunk, kChunkAlignment, std::nothrow));
    if (chunk == nullptr)
        return false;
    adviseHugePages(chunk, kChunk);
    m_chunks.insert(chunk);
    add(chunk, kChunk);
    return true;
}

void* HugePageHeap::allocate(std::size_t bytes)
{
    const std::size_t wanted = wholeUnits(bytes);
    const std::lock_guard lock(m_mutex);
    auto found = m_sizes.lower_bound({wanted, nullptr});
    if (found == m_sizes.end()) {
        if (!addChunk())
            return nullptr;
        found = m_sizes.lower_bound({wanted, nullptr});
    }
    const auto [size, place] = *found;
    remove(m_free.find(place));
    if (size > wanted)
        add(place + wanted, size - wanted);
    return place;
}

void HugePageHeap::deallocate(void* pointer, std::size_t bytes) noexcept
{
    auto* place = static_cast<std::byte*>(pointer);
    std::size_t size = wholeUnits(bytes);
    const std::lock_guard lock(m_mutex);
    const auto after = m_free.lower_bound(place);
    // Chunks may lie side by side, but go back one by one.
    if (after != m_free.begin() && !m_chunks.contains(place)) {
        const auto before = std::prev(after);
        if (before->first + before->second == place) {
            place = before->first;
            size += before->second;
            remove(before);
        }
    }
    if (after != m_free.end() && place + size == after->first && !m_chunks.contains(after->first)) {
        size += after->second;
        remove(after);
    }
    const bool hasSpare = m_sizes.lower_bound({kChunk, nullptr}) != m_sizes.end();
    if (size == kChunk && hasSpare) {
        m_chunks.erase(place);
        ::operator delete(place, kChunkAlignment);
    } else {
        add(place, size);
    }
}

bool HugePageHeap::contains(const void* pointer) const
{
    const auto* place = static_cast<const std::byte*>(pointer);
    const std::lock_guard lock(m_mutex);
    const auto after = m_chunks.upper_bound(const_cast<std::byte*>(place));
    return after != m_chunks.begin() && place < *std::prev(after) + kChunk;
}

std::size_t HugePageHeap::chunks() const
{
    const std::lock_guard lock(m_mutex);
    return m_chunks.size();
}

} // namespace vergence
