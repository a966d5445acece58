#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vergence {

/// Where a MemoryPool gets its blocks. Not called by two threads at once.
class BlockSource {
public:
    virtual ~BlockSource();
    /// A block aligned to 256 bytes, or null where there is no room. Throws DeviceError for any
    /// other refusal.
    virtual void* take(std::size_t bytes) = 0;
    virtual void giveBack(void* block) noexcept = 0;
    /// Waits until nothing that was queued uses any block.
    virtual void settle() = 0;
    /// "1.2 of 8.0 GiB are free"
    virtual std::string room() const = 0;
};

/// Keeps returned blocks by size class for the next request, so that a training step allocates
/// nothing after warm-up and addresses repeat. Size classes waste at most an eighth. Thread-safe.
///
/// A block may be handed out again while queued work still uses it, but only to the thread that
/// returned it, whose work is done in the order in which it came (StreamOrder). Other threads take
/// from the source, and after all queued work where that is exhausted or where the blocks kept
/// apart from them come to much; from then on those are everybody's.
class MemoryPool {
public:
    /// Bytes that other threads may keep before their blocks are waited for.
    static constexpr std::size_t kMostKeptApart = std::size_t{256} << 20;

    explicit MemoryPool(std::unique_ptr<BlockSource> source);
    ~MemoryPool();
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    /// Throws DeviceError with exit code 5 when the source is exhausted, after giving back
    /// everything kept.
    void* allocate(std::size_t bytes);
    void deallocate(void* pointer, std::size_t bytes) noexcept;

    /// Blocks that a recorded launch graph works in. They return to the pool with it; the pool
    /// outlives it.
    class Reserved {
    public:
        explicit Reserved(MemoryPool& pool) : m_pool(pool) {}
        ~Reserved();
        Reserved(const Reserved&) = delete;
        Reserved& operator=(const Reserved&) = delete;

    private:
        friend class MemoryPool;
        MemoryPool& m_pool;
        std::map<std::size_t, std::vector<void*>> m_blocks;
    };
    using Thread = std::uint64_t;
    /// From here on, blocks that this thread returns are handed out again to this thread alone:
    /// the graph that it records will write into them whenever it is replayed. One at a time for
    /// each thread. Returns the thread.
    Thread beginRecording();
    /// What the graph that `thread` recorded must hold as long as it lives.
    std::unique_ptr<Reserved> endRecording(Thread thread);

    std::size_t used() const;
    std::size_t peak() const;

    /// Bytes that a request of `bytes` occupies.
    static std::size_t sizeClass(std::size_t bytes);

private:
    using Blocks = std::map<std::size_t, std::vector<void*>>;
    struct Kept {
        Blocks blocks;
        std::size_t bytes = 0;
    };
    static Thread thisThread();
    Reserved* recordedHere() const;
    void keep(std::size_t size, void* block);
    void* fromKept(std::size_t size);
    void* fromSource(std::size_t size);
    bool othersKeepMuch(std::size_t size) const;
    void settle();
    void releaseKept() noexcept;

    std::unique_ptr<BlockSource> m_source;
    mutable std::mutex m_mutex;
    std::map<Thread, Kept> m_kept; ///< by the thread that returned them; queued work may use them
    Blocks m_settled;              ///< no queued work uses them
    std::map<Thread, std::unique_ptr<Reserved>> m_recordings;
    std::size_t m_used = 0, m_peak = 0;
};

} // namespace vergence
