#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace vergence::emulation {

/// What processes share of an event: how often it was recorded, and how often the work before that
/// was done. Each process has a file without a name for those it made.
class SharedCounter {
public:
    /// What cudaIpcGetEventHandle names.
    struct Place {
        std::int32_t process = 0, file = 0, device = 0;
        std::uint32_t slot = 0;
        std::uint64_t serial = 0;
    };

    static std::shared_ptr<SharedCounter> make(); ///< null: this process has too many
    static std::shared_ptr<SharedCounter> open(const Place& place); ///< null: it is gone
    ~SharedCounter();
    SharedCounter(const SharedCounter&) = delete;
    SharedCounter& operator=(const SharedCounter&) = delete;

    const Place& place() const { return m_place; }

    void begin();
    void end();
    std::uint64_t begun() const;
    /// True as well where the process that should get there has died.
    bool hasReached(std::uint64_t count) const;
    void waitFor(std::uint64_t count) const;

private:
    struct Slot {
        std::atomic<std::uint64_t> serial; ///< 0: free
        std::atomic<std::uint64_t> begun, done;
        std::atomic<std::int32_t> recorder; ///< the process that recorded last
    };
    struct OwnSlots;
    static constexpr std::size_t kSlots = 4096;

    static OwnSlots& ownSlots();
    SharedCounter(std::shared_ptr<Slot[]> slots, const Place& place, bool isOwn);
    Slot& slot() const { return m_slots[m_place.slot]; }

    std::shared_ptr<Slot[]> m_slots;
    Place m_place;
    bool m_isOwn;
};

} // namespace vergence::emulation
