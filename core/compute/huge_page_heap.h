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

/// Host memory for blocks below a huge page, side by side in chunks of huge pages: the weights of a
/// network are hundreds of them, all read once a pass, and looking up as many small pages took up
/// to a tenth of it. Best fit; free neighbours join; chunks without blocks go back to the system,
/// but for one. Thread-safe.
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
    std::size_t chunks() const; ///< taken from the system

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
