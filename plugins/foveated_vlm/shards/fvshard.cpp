#include "plugins/foveated_vlm/shards/fvshard.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <fstream>

#include <sys/mman.h>

#include <fmt/format.h>

#include "core/artifact/digest.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/shards/shard_layout.h"

namespace vergence::fvlm {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::uint32_t kMostFrames = 1u << 20, kMostPixels = 16384, kMostChannels = 64;

std::string hexOf(const std::array<std::uint8_t, 32>& bytes)
{
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += fmt::format("{:02x}", byte);
    return text;
}

/// Throws InputError about one file.
class Complaints {
public:
    explicit Complaints(const fs::path& path) : m_name(path.string()) {}
    void unless(bool condition, const std::string& what) const
    {
        if (!condition)
            throw InputError(fmt::format("The shard {} {}.", m_name, what));
    }

private:
    std::string m_name;
};

/// Whether [first, first + size) lies in [0, limit).
bool fits(std::uint64_t first, std::uint64_t size, std::uint64_t limit)
{
    return first <= limit && size <= limit - first;
}

ShardShape shapeOf(const ShardHeader& header)
{
    return {header.frames, header.channels, header.height, header.width,
            static_cast<ShardType>(header.type)};
}

void checkShape(const ShardHeader& header, const Complaints& complain)
{
    complain.unless(header.type <= static_cast<std::uint32_t>(ShardType::F32),
                    fmt::format("has elements of the unknown type {}", header.type));
    complain.unless(header.layout == 0,
                    fmt::format("has the unknown layout {}; 0 is T, C, H, W", header.layout));
    complain.unless(header.colour == 0,
                    fmt::format("has the unknown colours {}; 0 is RGB", header.colour));
    complain.unless(header.frames <= kMostFrames && header.channels > 0 &&
                        header.channels <= kMostChannels && header.height > 0 &&
                        header.height <= kMostPixels && header.width > 0 &&
                        header.width <= kMostPixels,
                    fmt::format("has clips of {} × {} × {} × {}, which cannot be", header.frames,
                                header.channels, header.height, header.width));
}

void checkSizes(const ShardHeader& header, std::uint64_t fileBytes, const Complaints& complain)
{
    const auto within = [&](std::uint64_t first, std::uint64_t size, const char* what) {
        complain.unless(fits(first, size, fileBytes),
                        fmt::format("is truncated: its {} should end at byte {}, the file has {}",
                                    what, first + size, fileBytes));
    };
    complain.unless(header.headerBytes % kShardPage == 0 &&
                        header.headerBytes >= kShardFactsAt + std::uint64_t{header.factsBytes},
                    fmt::format("has a damaged header of {} bytes", header.headerBytes));
    within(0, header.headerBytes, "header");
    complain.unless(
        header.clips <= fileBytes / sizeof(ShardEntry) &&
            header.indexBytes == header.clips * sizeof(ShardEntry),
        fmt::format("has an index of {} bytes for {} clips", header.indexBytes, header.clips));
    within(header.dataOffset, header.dataBytes, "data");
    within(header.indexOffset, header.indexBytes, "index");
    within(header.textOffset, header.textBytes, "text");
    complain.unless(header.dataOffset % kShardPage == 0 &&
                        header.dataOffset >= header.headerBytes &&
                        header.indexOffset % alignof(ShardEntry) == 0,
                    "has parts at places where none can be");
    const std::uint64_t clipBytes = header.frames * shapeOf(header).frameBytes();
    complain.unless(header.stride == 0 || (header.frames > 0 && header.stride >= clipBytes &&
                                           header.stride * header.clips <= header.dataBytes),
                    fmt::format("has {} clips at every {} bytes but {} bytes of data", header.clips,
                                header.stride, header.dataBytes));
}

void checkClip(const ShardClip& clip, const ShardHeader& header, std::size_t index,
               const Complaints& complain)
{
    complain.unless(clip.frames <= kMostFrames &&
                        (header.frames == 0 || clip.frames == header.frames),
                    fmt::format("has {} frames in clip {}", clip.frames, index));
    complain.unless(
        clip.offset % kShardPage == 0 &&
            fits(clip.offset, clip.frames * shapeOf(header).frameBytes(), header.dataBytes) &&
            (header.stride == 0 || clip.offset == header.stride * index),
        fmt::format("has clip {} outside of its data", index));
    complain.unless(fits(clip.textOffset, clip.textBytes, header.textBytes),
                    fmt::format("has the text of clip {} outside of its texts", index));
}

} // namespace

std::size_t bytesOf(ShardType type)
{
    switch (type) {
    case ShardType::U8:
        return 1;
    case ShardType::BF16:
    case ShardType::F16:
        return 2;
    case ShardType::F32:
        break;
    }
    return 4;
}

std::size_t ShardShape::frameBytes() const
{
    return std::size_t{channels} * height * width * bytesOf(type);
}

struct Shard::Parts {
    explicit Parts(const fs::path& where) : path(where), file(where) {}

    const std::byte* data() const { return file.bytes().data() + header.dataOffset; }
    std::span<const std::byte> frames(const ShardClip& clip) const
    {
        return {data() + clip.offset, clip.frames * shape.frameBytes()};
    }

    fs::path path;
    MappedFile file;
    ShardHeader header;
    ShardShape shape;
    std::vector<ShardClip> clips;
    std::string digest, facts;
    std::unique_ptr<std::atomic<bool>[]> isChecked; ///< clips whose check sum was right
};

Shard::Shard(const fs::path& path) : m_parts(std::make_unique<Parts>(path))
{
    Parts& p = *m_parts;
    const Complaints complain(path);
    const auto bytes = p.file.bytes();
    complain.unless(bytes.size() >= kShardMagic.size() &&
                        std::memcmp(bytes.data(), kShardMagic.data(), kShardMagic.size()) == 0,
                    "is none: it does not begin with FVSHARD1");
    complain.unless(bytes.size() >= sizeof(ShardHeader),
                    fmt::format("is truncated: it has {} bytes", bytes.size()));
    std::memcpy(&p.header, bytes.data(), sizeof(ShardHeader));
    complain.unless(p.header.version == kShardVersion,
                    fmt::format("is of version {}; this program reads version {}", p.header.version,
                                kShardVersion));
    checkShape(p.header, complain);
    checkSizes(p.header, bytes.size(), complain);
    p.shape = shapeOf(p.header);
    p.digest = hexOf(p.header.digest);
    p.facts.assign(reinterpret_cast<const char*>(bytes.data()) + kShardFactsAt,
                   p.header.factsBytes);
    p.clips.reserve(p.header.clips);
    for (std::size_t i = 0; i < p.header.clips; ++i) {
        ShardEntry entry;
        std::memcpy(&entry, bytes.data() + p.header.indexOffset + i * sizeof(entry), sizeof(entry));
        p.clips.push_back({entry.id, entry.frames, entry.flags, entry.seconds, entry.fps,
                           entry.offset, entry.textOffset, entry.textBytes, entry.crc});
        checkClip(p.clips.back(), p.header, i, complain);
    }
    p.isChecked = std::make_unique<std::atomic<bool>[]>(p.clips.size());
}

Shard::~Shard() = default;
Shard::Shard(Shard&&) noexcept = default;
Shard& Shard::operator=(Shard&&) noexcept = default;

const fs::path& Shard::path() const
{
    return m_parts->path;
}

const ShardShape& Shard::shape() const
{
    return m_parts->shape;
}

std::size_t Shard::count() const
{
    return m_parts->clips.size();
}

const ShardClip& Shard::clip(std::size_t index) const
{
    expects(index < count(), "Shard: a clip of the shard");
    return m_parts->clips[index];
}

std::span<const std::byte> Shard::frames(std::size_t index) const
{
    const ShardClip& entry = clip(index);
    const auto bytes = m_parts->frames(entry);
    if (!m_parts->isChecked[index].load(std::memory_order_relaxed)) {
        if (crc32c(bytes) != entry.crc)
            throw InputError(fmt::format(
                "The shard {} is damaged: clip {} has another check sum than its index says.",
                path().string(), index));
        m_parts->isChecked[index].store(true, std::memory_order_relaxed);
    }
    return bytes;
}

std::string_view Shard::text(std::size_t index) const
{
    const ShardClip& entry = clip(index);
    return {reinterpret_cast<const char*>(m_parts->file.bytes().data()) +
                m_parts->header.textOffset + entry.textOffset,
            entry.textBytes};
}

const std::string& Shard::digest() const
{
    return m_parts->digest;
}

const std::string& Shard::facts() const
{
    return m_parts->facts;
}

std::span<const std::byte> Shard::contiguous() const
{
    const std::size_t clipBytes = shape().frames * shape().frameBytes();
    if (shape().frames == 0 || clipBytes != m_parts->header.stride)
        return {};
    return {m_parts->data(), count() * clipBytes};
}

std::vector<std::string> Shard::verify() const
{
    std::vector<std::string> differences;
    Digest digest;
    digest.add({reinterpret_cast<const char*>(m_parts->data()), m_parts->header.dataBytes});
    if (digest.hex() != m_parts->digest)
        differences.push_back(fmt::format(
            "The data of {} have another digest than its header says.", path().string()));
    for (std::size_t i = 0; i < count(); ++i) {
        if (crc32c(m_parts->frames(m_parts->clips[i])) != m_parts->clips[i].crc)
            differences.push_back(fmt::format("Clip {} of {} has another check sum than its index "
                                              "says.",
                                              i, path().string()));
    }
    return differences;
}

void Shard::readAhead() const
{
    const auto bytes = m_parts->file.bytes();
    ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_SEQUENTIAL);
}

bool isShard(const fs::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    std::array<char, kShardMagic.size()> begin{};
    stream.read(begin.data(), begin.size());
    return stream.gcount() == static_cast<std::streamsize>(begin.size()) && begin == kShardMagic;
}

} // namespace vergence::fvlm
