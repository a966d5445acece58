#include "core/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace vergence {

namespace {

constexpr std::array<std::uint32_t, 256> table()
{
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
        entries[i] = value;
    }
    return entries;
}

constexpr std::array<std::uint32_t, 256> kTable = table();

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t crcWide(std::span<const std::byte> bytes,
                                                std::uint32_t before)
{
    std::uint64_t crc = ~before;
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    auto last = static_cast<std::uint32_t>(crc);
    for (; at < bytes.size(); ++at)
        last = _mm_crc32_u8(last, std::to_integer<unsigned char>(bytes[at]));
    return ~last;
}

const bool hasInstruction = __builtin_cpu_supports("sse4.2");
#endif

} // namespace

std::uint32_t crc32cPlain(std::span<const std::byte> bytes, std::uint32_t before)
{
    std::uint32_t crc = ~before;
    for (const std::byte byte : bytes)
        crc = crc >> 8 ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 255];
    return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before)
{
#if defined(__x86_64__)
    if (hasInstruction)
        return crcWide(bytes, before);
#endif
    return crc32cPlain(bytes, before);
}

} // namespace vergence
