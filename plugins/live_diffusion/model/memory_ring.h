#pragma once

#include <array>
#include <cstdint>

#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence::live {

inline constexpr float kAgeBias = -0.05f;          ///< per write that a slot is old
inline constexpr float kEmptySlotBias = -30000.0f; ///< finite in 16 bits
inline constexpr Index kDefaultMemoryStride = 4;   ///< emitted frames from one write to the next

/// Which slot the next write goes to, how old each is, and what is added to its scores. Slot 0 is
/// pinned: the first write after a reset, whatever its age. Write j ≥ 1 goes to slot 1 + ((j − 1)
/// mod 15).
class MemoryRing {
public:
    static Index slotOfWrite(std::int64_t write);

    void reset();
    Index write(); ///< counts one write; its slot
    Index nextSlot() const { return slotOfWrite(m_writes); }
    std::int64_t writes() const { return m_writes; }
    bool isEmpty(Index slot) const { return m_writeOfSlot.at(index(slot)) < 0; }
    /// Writes since this slot was written, 0 for the newest; −1 where it is empty.
    std::int64_t age(Index slot) const;
    /// Number of the write that it holds; −1: none.
    std::int64_t writeOf(Index slot) const { return m_writeOfSlot.at(index(slot)); }

    /// For each of the 264 keys: kAgeBias · age, 0 for the pinned slot and the null token,
    /// kEmptySlotBias for empty slots and keys that only pad.
    std::array<float, kMemoryTokens> bias() const;

private:
    static std::size_t index(Index slot) { return static_cast<std::size_t>(slot); }
    std::int64_t m_writes = 0;
    std::array<std::int64_t, kMemorySlots> m_writeOfSlot = emptySlots();
    static std::array<std::int64_t, kMemorySlots> emptySlots();
};

} // namespace vergence::live
