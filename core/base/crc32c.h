#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vergence {

/// CRC-32C (Castagnoli) of bytes. Check value: "123456789" gives 0xE3069283. For bytes that come
/// piece by piece `before` is the value of those that went before.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);
/// Without the processor's instruction; the reference of the other.
std::uint32_t crc32cPlain(std::span<const std::byte> bytes, std::uint32_t before = 0);

} // namespace vergence
