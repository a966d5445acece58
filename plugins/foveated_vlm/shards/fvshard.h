#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/artifact/mapped_file.h"
#include "core/compute/half.h"

namespace vergence::fvlm {

/// Element type of a shard, as the file has it.
enum class ShardType : std::uint32_t { U8 = 0, BF16 = 1, F16 = 2, F32 = 3 };
std::size_t bytesOf(ShardType type);

/// Flags of a clip.
enum ShardFlag : std::uint32_t {
    kShardShort = 1,   ///< the last frame is held, the video was shorter
    kShardImage = 2,   ///< all frames are equal; one is enough
    kShardRepaired = 4 ///< decoding went on over damaged frames
};

/// What all clips of a shard have in common.
struct ShardShape {
    std::uint32_t frames = 0; ///< of every clip; 0: each has its own number
    std::uint32_t channels = 3, height = 0, width = 0;
    ShardType type = ShardType::U8;

    std::size_t frameBytes() const;
    bool operator==(const ShardShape&) const = default;
};

/// One clip in a shard.
struct ShardClip {
    std::uint64_t id = 0;
    std::uint32_t frames = 0;
    std::uint32_t flags = 0;      ///< ShardFlag
    float seconds = 0, fps = 0;   ///< of the source; 0: unknown
    std::uint64_t offset = 0;     ///< of the frames in the data
    std::uint64_t textOffset = 0; ///< of the text in the texts
    std::uint32_t textBytes = 0;
    std::uint32_t crc = 0; ///< CRC-32C of the frames
};

/// Writes a container `fvshard`, version 1: header, frames at multiples of 4096 bytes, index and
/// texts. The file appears under its name when commit() succeeds.
///
/// Little-endian. Header: 0 "FVSHARD1"; 8 u32 version, u32 header bytes (multiple of 4096); 16 u64
/// clips, index offset, index bytes, data offset, data bytes, text offset, text bytes; 72 u32 T (0:
/// variable), C, H, W, element type, layout (0: T, C, H, W), colour (0: RGB, full range), stride of
/// clips in bytes (0: variable); 104 SHA-256 of the data; 136 u32 length and UTF-8 JSON. Index: 64
/// bytes a clip: u64 id, u64 data offset, u32 frames, u32 flags, f32 seconds, f32 fps, u64 text
/// offset, u32 text bytes, u32 CRC-32C, 16 bytes 0. Offsets of clips count from the data's, of
/// texts from the texts'.
class ShardWriter {
public:
    /// A new file. Throws OutputError, InputError where another writer is at work on it,
    /// ContractError for a shape without pixels.
    ShardWriter(const std::filesystem::path& path, const ShardShape& shape);
    /// Keeps what it has in `<path>.draft` and `<path>.draft.jsonl`, whatever ends it, and goes on
    /// with what an earlier writer of the same shape and fingerprint left; bytes that were torn are
    /// cut off.
    ShardWriter(const std::filesystem::path& path, const ShardShape& shape,
                const std::string& fingerprint);
    ~ShardWriter(); ///< removes what was not committed, unless it is to be kept
    ShardWriter(const ShardWriter&) = delete;
    ShardWriter& operator=(const ShardWriter&) = delete;

    /// Appends a clip: `frames` of [clip.frames, C, H, W]; `text` one JSON object. Offsets and
    /// check sum are found here. `note` stays in the draft alone. Throws OutputError,
    /// ContractError for another number of bytes.
    void add(ShardClip clip, std::span<const std::byte> frames, std::string_view text = {},
             const std::string& note = {});
    /// A note without a clip.
    void addNote(const std::string& note);
    /// All notes in order, those of earlier writers first: one for every call of the two above.
    const std::vector<std::string>& notes() const;

    std::size_t count() const;
    const ShardClip& clip(std::size_t index) const;
    /// Finishes the file: `facts` is a JSON object of at most 16,000 bytes (sampling, fit, program,
    /// sources, statistics). Returns the digest of the data. Throws OutputError.
    std::string commit(const std::string& facts);

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

/// A container `fvshard` of version 1, mapped into memory. Thread-safe.
class Shard {
public:
    /// Checks magic, sizes and bounds. Throws InputError that names the file and what is wrong
    /// with it.
    explicit Shard(const std::filesystem::path& path);
    ~Shard();
    Shard(Shard&&) noexcept;
    Shard& operator=(Shard&&) noexcept;

    const std::filesystem::path& path() const;
    const ShardShape& shape() const;
    std::size_t count() const;
    const ShardClip& clip(std::size_t index) const;
    /// The frames of a clip. Its check sum is compared when it is touched first. Throws InputError
    /// where it differs.
    std::span<const std::byte> frames(std::size_t index) const;
    std::string_view text(std::size_t index) const; ///< JSON, or empty
    const std::string& digest() const; ///< of the data, as the header has it, hexadecimal
    const std::string& facts() const;  ///< JSON of the header
    /// All frames where clips have one number of frames and no gap between them, unchecked;
    /// otherwise empty.
    std::span<const std::byte> contiguous() const;

    /// Compares digest and check sums with the data: one sentence a difference.
    std::vector<std::string> verify() const;
    /// Tells the system that all will be read in order.
    void readAhead() const;

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

/// Whether a file starts as a shard does.
bool isShard(const std::filesystem::path& path);

} // namespace vergence::fvlm
