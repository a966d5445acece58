#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace vergence {

/// Size of a page that holds 512 of the usual ones.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Asks the system to put [pointer, pointer + bytes) on huge pages as far as whole ones fit.
void adviseHugePages(void* pointer, std::size_t bytes);

/// While one lives, blocks that its thread takes from a CPU device are meant to last, as a
/// network's weights are: they are hundreds, all read once a pass, and looking up as many small
/// pages takes up to a tenth of it. So they lie side by side on huge pages. Blocks that come and go
/// do not: parts of such pages would stay behind.
class LastingBlocks {
public:
    LastingBlocks();
    ~LastingBlocks();
    LastingBlocks(const LastingBlocks&) = delete;
    LastingBlocks& operator=(const LastingBlocks&) = delete;

    static bool areTaken(); ///< by this thread
};

/// Host memory for blocks below a huge page, side by side in chunks of huge pages. Best fit; free
/// neighbours join; chunks without blocks go back to the system, but for one. Thread-safe.
class HugePageHeap {
public:
    /// Blocks of these sizes are worth it.
    static bool serves(std::size_t bytes) { return bytes >= kLeast && bytes < kHugePage; }

    HugePageHeap() = default;
    ~HugePageHeap();
    HugePageHeap(const HugePageHeap&) = delete;
    HugePageHeap& operator=(const HugePageHeap&) = delete;

    /// Aligned to 256 bytes; null where no memory is left. `bytes` that it serves.
    void* allocate(std::size_t bytes);
    void deallocate(void* pointer, std::size_t bytes) noexcept;
    bool contains(const void* pointer) const; ///< whether a block is one of its own
    std::size_t chunks() const;               ///< taken from the system

private:
    static constexpr std::size_t kLeast = 16 << 10, kChunk = 16 * kHugePage;

    void add(std::byte* place, std::size_t bytes);
    void remove(std::map<std::byte*, std::size_t>::iterator range);
    bool addChunk();

    mutable std::mutex m_mutex;
    std::set<std::byte*> m_chunks;
    std::map<std::byte*, std::size_t> m_free;             ///< by place
    std::set<std::pair<std::size_t, std::byte*>> m_sizes; ///< the same by size
};

} // namespace vergence
