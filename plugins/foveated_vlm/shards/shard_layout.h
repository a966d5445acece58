#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vergence::fvlm {

// The bytes of a shard, as they lie in the file.

inline constexpr std::array<char, 8> kShardMagic = {'F', 'V', 'S', 'H', 'A', 'R', 'D', '1'};
inline constexpr std::uint32_t kShardVersion = 1;
inline constexpr std::size_t kShardPage = 4096;

struct ShardHeader {
    std::array<char, 8> magic = kShardMagic;
    std::uint32_t version = kShardVersion, headerBytes = 0;
    std::uint64_t clips = 0, indexOffset = 0, indexBytes = 0, dataOffset = 0, dataBytes = 0;
    std::uint64_t textOffset = 0, textBytes = 0;
    std::uint32_t frames = 0, channels = 0, height = 0, width = 0;
    std::uint32_t type = 0, layout = 0, colour = 0, stride = 0;
    std::array<std::uint8_t, 32> digest{};
    std::uint32_t factsBytes = 0;
};
static_assert(sizeof(ShardHeader) == 144 && offsetof(ShardHeader, digest) == 104 &&
              offsetof(ShardHeader, factsBytes) == 136);
/// Where the facts begin.
inline constexpr std::size_t kShardFactsAt = 140;

struct ShardEntry {
    std::uint64_t id = 0, offset = 0;
    std::uint32_t frames = 0, flags = 0;
    float seconds = 0, fps = 0;
    std::uint64_t textOffset = 0;
    std::uint32_t textBytes = 0, crc = 0;
    std::array<std::uint8_t, 16> reserved{};
};
static_assert(sizeof(ShardEntry) == 64 && offsetof(ShardEntry, textOffset) == 32);

inline constexpr std::size_t pagesFor(std::size_t bytes)
{
    return (bytes + kShardPage - 1) / kShardPage * kShardPage;
}

} // namespace vergence::fvlm
