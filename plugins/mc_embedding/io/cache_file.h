#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/artifact/mapped_file.h"
#include "plugins/mc_embedding/io/pixel_type.h"

namespace vergence::mc_embedding {

// The file of a pixel cache: a header page, an index, and records of side × side × 3 values that
// start on a page. Little-endian. Specification, section 9.8.

/// What a file must say to be the one that is wanted.
struct CacheLayout {
    std::string fingerprint; ///< SHA-256 in hex: how pixels were made
    std::string set;         ///< SHA-256 in hex: of which pictures
    std::size_t count = 0;
    int side = 0;
    PixelType type = PixelType::U8;

    std::string fileName() const;
    std::size_t recordBytes() const;
    std::size_t entryOffset(std::size_t index) const;
    std::size_t recordOffset(std::size_t index) const;
    std::size_t fileBytes() const { return recordOffset(count); }
};

enum class RecordStatus : std::uint32_t {
    Empty = 0,
    Pixels = 1,
    Skipped = 2 ///< the record holds the reason; its length stands in `width`
};

/// One line of the index.
struct CacheEntry {
    std::array<std::uint8_t, 32> sha256{}; ///< of the source file; 0 where it could not be read
    std::uint32_t label = 0;               ///< place in the labels of the set
    std::uint32_t width = 0, height = 0;   ///< of the source, px
    RecordStatus status = RecordStatus::Empty;
    std::uint64_t sourceBytes = 0; ///< of the source file when it was read
    std::int64_t sourceTime = 0;   ///< its last change, ns
    std::uint32_t recordCrc = 0;   ///< CRC-32C
    std::uint32_t entryCrc = 0;    ///< of all before
    std::uint64_t reserved = 0;
};
static_assert(sizeof(CacheEntry) == 80);

std::string hexOf(const std::array<std::uint8_t, 32>& sha256); ///< empty for all 0

/// Read-only; what a writer adds meanwhile appears here.
class CacheFile {
public:
    /// Whether `path` is a cache of that layout; one that ends early is.
    static bool exists(const std::filesystem::path& path, const CacheLayout& layout);
    /// The layout that the header of `path` states; count 0 where it is no cache.
    static CacheLayout layoutOf(const std::filesystem::path& path);
    /// A file with an empty index, under its name at once. Throws OutputError.
    static void create(const std::filesystem::path& path, const CacheLayout& layout);

    /// Throws InputError.
    CacheFile(const std::filesystem::path& path, const CacheLayout& layout);

    const CacheLayout& layout() const { return m_layout; }
    /// Status Empty where the entry is torn or beyond the end of the file.
    CacheEntry entry(std::size_t index) const;
    std::span<const std::uint8_t> record(std::size_t index) const;
    /// Whether the record is what its entry says.
    bool isIntact(std::size_t index, const CacheEntry& entry) const;
    std::string reason(std::size_t index, const CacheEntry& entry) const;

private:
    CacheLayout m_layout;
    MappedFile m_file;
};

/// Writes records, then entries, with a flush between.
class CacheWriter {
public:
    /// Lengthens a file that ends early. Throws OutputError.
    CacheWriter(const std::filesystem::path& path, const CacheLayout& layout);
    ~CacheWriter();
    CacheWriter(const CacheWriter&) = delete;
    CacheWriter& operator=(const CacheWriter&) = delete;

    void writeRecord(std::size_t index, std::span<const std::uint8_t> bytes);
    /// Fills in the check sum of the entry.
    void writeEntry(std::size_t index, CacheEntry entry);
    void flush();

private:
    void write(std::size_t offset, const void* bytes, std::size_t count);

    std::filesystem::path m_path;
    CacheLayout m_layout;
    int m_file = -1;
};

} // namespace vergence::mc_embedding
