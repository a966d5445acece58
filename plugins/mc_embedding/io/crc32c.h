#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vergence::mc_embedding {

/// CRC-32C (Castagnoli) of bytes. Check value: "123456789" gives 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes);
/// Without the processor's instruction; the reference of the other.
std::uint32_t crc32cPlain(std::span<const std::byte> bytes);

} // namespace vergence::mc_embedding
