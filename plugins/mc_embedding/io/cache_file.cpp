#include "plugins/mc_embedding/io/cache_file.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::mc_embedding {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::size_t kPage = 4096;

/// Bytes 0 to 199 of the file.
struct CacheHeader {
    char magic[8];
    std::uint32_t version, type; ///< type 0: u8, 1: f16, 2: f32
    std::uint64_t count;
    std::uint32_t channels, height, width, reserved;
    std::uint64_t recordBytes, indexOffset, dataOffset;
    char fingerprint[64], set[64];
    std::uint32_t unused, crc; ///< CRC-32C of all before
};
static_assert(sizeof(CacheHeader) == 200);

constexpr char kMagic[8] = {'M', 'C', 'P', 'X', '\r', '\n', '\x1a', '\n'};

template <class T>
std::uint32_t crcBefore(const T& value, std::size_t end)
{
    return crc32c(std::as_bytes(std::span(&value, 1)).first(end));
}

CacheHeader headerOf(const CacheLayout& layout)
{
    CacheHeader header{};
    std::copy_n(kMagic, 8, header.magic);
    header.version = 1;
    header.type = static_cast<std::uint32_t>(layout.type);
    header.count = layout.count;
    header.channels = 3;
    header.height = header.width = static_cast<std::uint32_t>(layout.side);
    header.recordBytes = layout.recordBytes();
    header.indexOffset = layout.entryOffset(0);
    header.dataOffset = layout.recordOffset(0);
    layout.fingerprint.copy(header.fingerprint, sizeof(header.fingerprint));
    layout.set.copy(header.set, sizeof(header.set));
    header.crc = crcBefore(header, offsetof(CacheHeader, crc));
    return header;
}

/// Removes what creations that were interrupted left.
void removeParts(const fs::path& path)
{
    const std::string front = fmt::format(".{}.", path.filename().string());
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(path.parent_path(), code)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(front) && name.ends_with(".part"))
            fs::remove(entry.path(), code);
    }
}

} // namespace

std::string CacheLayout::fileName() const
{
    return fmt::format("{}-{}.mcpx", fingerprint.substr(0, 16), set.substr(0, 16));
}

std::size_t CacheLayout::recordBytes() const
{
    return static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3 * bytesOf(type);
}

std::size_t CacheLayout::entryOffset(std::size_t index) const
{
    return kPage + index * sizeof(CacheEntry);
}

std::size_t CacheLayout::recordOffset(std::size_t index) const
{
    return (entryOffset(count) + kPage - 1) / kPage * kPage + index * recordBytes();
}

std::string hexOf(const std::array<std::uint8_t, 32>& sha256)
{
    std::string text;
    if (std::all_of(sha256.begin(), sha256.end(), [](std::uint8_t byte) { return byte == 0; }))
        return text;
    for (const std::uint8_t byte : sha256)
        text += fmt::format("{:02x}", byte);
    return text;
}

CacheLayout CacheFile::layoutOf(const fs::path& path)
{
    CacheLayout layout;
    CacheHeader header{};
    std::ifstream stream(path, std::ios::binary);
    stream.read(reinterpret_cast<char*>(&header), sizeof(header));
    if (stream.gcount() != sizeof(header) || !std::equal(kMagic, kMagic + 8, header.magic) ||
        header.crc != crcBefore(header, offsetof(CacheHeader, crc)))
        return layout;
    layout.fingerprint.assign(header.fingerprint, sizeof(header.fingerprint));
    layout.set.assign(header.set, sizeof(header.set));
    layout.count = header.count;
    layout.side = static_cast<int>(header.height);
    layout.type = static_cast<PixelType>(std::min(header.type, 2u));
    // Another version or type has another check sum than the header of this layout.
    return header.crc == headerOf(layout).crc ? layout : CacheLayout{};
}

bool CacheFile::exists(const fs::path& path, const CacheLayout& layout)
{
    const CacheLayout found = layoutOf(path);
    return found.count == layout.count && found.fingerprint == layout.fingerprint &&
           found.set == layout.set && found.side == layout.side && found.type == layout.type;
}

void CacheFile::create(const fs::path& path, const CacheLayout& layout)
{
    removeParts(path);
    OutputFile file(path);
    std::string front(layout.recordOffset(0), '\0');
    const CacheHeader header = headerOf(layout);
    std::memcpy(front.data(), &header, sizeof(header));
    file.write(front);
    file.commit();
}

CacheFile::CacheFile(const fs::path& path, const CacheLayout& layout)
    : m_layout(layout),
      m_file(path)
{
}

CacheEntry CacheFile::entry(std::size_t index) const
{
    CacheEntry entry;
    if (m_layout.recordOffset(index + 1) > m_file.bytes().size())
        return entry;
    std::memcpy(&entry, m_file.bytes().data() + m_layout.entryOffset(index), sizeof(entry));
    const bool isKnown =
        entry.status == RecordStatus::Pixels || entry.status == RecordStatus::Skipped;
    if (!isKnown || entry.entryCrc != crcBefore(entry, offsetof(CacheEntry, entryCrc)))
        return {};
    return entry;
}

std::span<const std::uint8_t> CacheFile::record(std::size_t index) const
{
    const auto all = m_file.bytes();
    expects(m_layout.recordOffset(index + 1) <= all.size(), "CacheFile: a record of the file");
    return {reinterpret_cast<const std::uint8_t*>(all.data()) + m_layout.recordOffset(index),
            m_layout.recordBytes()};
}

bool CacheFile::isIntact(std::size_t index, const CacheEntry& entry) const
{
    if (entry.status == RecordStatus::Empty)
        return false;
    const auto bytes = std::as_bytes(record(index));
    const bool isText = entry.status == RecordStatus::Skipped;
    return (!isText || entry.width <= bytes.size()) &&
           entry.recordCrc == crc32c(isText ? bytes.first(entry.width) : bytes);
}

std::string CacheFile::reason(std::size_t index, const CacheEntry& entry) const
{
    const auto bytes = record(index).first(entry.width);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

CacheWriter::CacheWriter(const fs::path& path, const CacheLayout& layout)
    : m_path(path),
      m_layout(layout),
      m_file(::open(path.c_str(), O_RDWR | O_CLOEXEC))
{
    if (m_file < 0)
        throwCannotWrite(path, errno);
    if (::lseek(m_file, 0, SEEK_END) < static_cast<off_t>(layout.fileBytes()) &&
        ::ftruncate(m_file, static_cast<off_t>(layout.fileBytes())) != 0) {
        const int error = errno;
        ::close(m_file);
        throwCannotWrite(path, error);
    }
}

CacheWriter::~CacheWriter()
{
    ::close(m_file);
}

void CacheWriter::writeRecord(std::size_t index, std::span<const std::uint8_t> bytes)
{
    write(m_layout.recordOffset(index), bytes.data(), bytes.size());
}

void CacheWriter::writeEntry(std::size_t index, CacheEntry entry)
{
    entry.entryCrc = crcBefore(entry, offsetof(CacheEntry, entryCrc));
    write(m_layout.entryOffset(index), &entry, sizeof(entry));
}

void CacheWriter::flush()
{
    if (::fdatasync(m_file) != 0 && errno != EINVAL && errno != EROFS)
        throwCannotWrite(m_path, errno);
}

void CacheWriter::write(std::size_t offset, const void* bytes, std::size_t count)
{
    if (::lseek(m_file, static_cast<off_t>(offset), SEEK_SET) < 0)
        throwCannotWrite(m_path, errno);
    const char* from = static_cast<const char*>(bytes);
    while (count > 0) {
        const ssize_t written = ::write(m_file, from, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            throwCannotWrite(m_path, errno);
        from += written;
        count -= static_cast<std::size_t>(written);
    }
}

} // namespace vergence::mc_embedding
