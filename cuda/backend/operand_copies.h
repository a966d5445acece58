#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/compute/stream.h"

namespace vergence {

struct Operand {
    std::int64_t name = 0;
    void* address = nullptr;
    std::size_t bytes = 0;
};

/// Copies of what a library's plan reads and writes, with known bytes before, between and behind
/// them: plans are tried out there, where nothing is lost, and where what they read beside their
/// operands shows.
class OperandCopies {
public:
    /// `take(bytes)` gives memory aligned to 256 bytes.
    template <class Take>
    OperandCopies(const std::vector<Operand>& originals, const Take& take)
        : m_originals(originals),
          m_copies(originals)
    {
        for (const Operand& original : originals)
            m_bytes += room(original);
        m_memory = take(m_bytes);
        auto* place = static_cast<std::byte*>(m_memory.get()) + kMargin;
        for (Operand& copy : m_copies) {
            copy.address = place;
            place += room(copy);
        }
    }

    const std::vector<Operand>& operands() const { return m_copies; }
    const Operand& operator[](std::int64_t name) const
    {
        std::size_t i = 0;
        while (m_copies.at(i).name != name)
            ++i;
        return m_copies[i];
    }

    /// Every byte becomes `value`, but for the operands other than `result`, which are copied anew.
    void prepare(Stream& stream, int value, std::int64_t result) const
    {
        stream.fillBytes(m_memory.get(), value, m_bytes);
        for (std::size_t i = 0; i < m_copies.size(); ++i) {
            if (m_copies[i].name != result)
                stream.copy(m_copies[i].address, m_originals[i].address, m_copies[i].bytes);
        }
    }

private:
    static constexpr std::size_t kMargin = 256;

    static std::size_t room(const Operand& operand)
    {
        return (operand.bytes + kMargin - 1) / kMargin * kMargin + kMargin;
    }

    std::vector<Operand> m_originals, m_copies;
    std::size_t m_bytes = kMargin;
    std::shared_ptr<void> m_memory;
};

} // namespace vergence
