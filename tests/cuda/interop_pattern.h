#pragma once

#include <cstddef>
#include <cstdint>

namespace vergence::test {

/// Byte `i` of the pixels of frame `sequence`. Below 0x40, so that every number that two or four of
/// them make is a finite float that is not denormal as far as a GPU would flush it.
inline std::byte patternByte(std::uint64_t sequence, std::size_t i)
{
    return static_cast<std::byte>(1 + (sequence * 29 + i * 7 + i / 61) % 62);
}

} // namespace vergence::test
