#include "plugins/live_diffusion/model/memory_ring.h"

namespace vergence::live {

namespace {
constexpr Index kPinnedSlot = 0;
}

std::array<std::int64_t, kMemorySlots> MemoryRing::emptySlots()
{
    std::array<std::int64_t, kMemorySlots> slots{};
    slots.fill(-1);
    return slots;
}

Index MemoryRing::slotOfWrite(std::int64_t write)
{
    expects(write >= 0, "MemoryRing: writes count from 0");
    return write == 0 ? kPinnedSlot : 1 + (write - 1) % (kMemorySlots - 1);
}

void MemoryRing::reset()
{
    m_writes = 0;
    m_writeOfSlot = emptySlots();
}

Index MemoryRing::write()
{
    const Index slot = slotOfWrite(m_writes);
    m_writeOfSlot.at(index(slot)) = m_writes++;
    return slot;
}

std::int64_t MemoryRing::age(Index slot) const
{
    return isEmpty(slot) ? -1 : m_writes - 1 - writeOf(slot);
}

std::array<float, kMemoryTokens> MemoryRing::bias() const
{
    std::array<float, kMemoryTokens> bias{};
    bias.fill(kEmptySlotBias);
    for (Index slot = 0; slot < kMemorySlots; ++slot) {
        if (isEmpty(slot))
            continue;
        const float value = slot == kPinnedSlot ? 0.0f : kAgeBias * static_cast<float>(age(slot));
        for (Index token = 0; token < kSlotTokens; ++token)
            bias.at(index(slot * kSlotTokens + token)) = value;
    }
    bias.at(index(kNullToken)) = 0;
    return bias;
}

} // namespace vergence::live
