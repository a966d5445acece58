#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <zip.h>

namespace vergence {

/// Owns a libzip archive; discards what was not closed. Used by the bundle sources alone.
class ZipArchive {
public:
    /// For reading, checked for consistency. Throws InputError.
    static ZipArchive openForReading(const std::filesystem::path& path);
    /// New, replacing what is there. Throws OutputError.
    static ZipArchive create(const std::filesystem::path& path);

    ZipArchive(ZipArchive&& other) noexcept : m_zip(other.m_zip) { other.m_zip = nullptr; }
    ZipArchive& operator=(ZipArchive&&) = delete;
    ~ZipArchive()
    {
        if (m_zip)
            zip_discard(m_zip);
    }

    zip_t* handle() const { return m_zip; }
    std::string reason() const { return zip_strerror(m_zip); }
    /// Writes the archive; false where that failed or was cancelled, with handle() still good for
    /// asking why.
    bool close()
    {
        if (zip_close(m_zip) != 0)
            return false;
        m_zip = nullptr;
        return true;
    }

private:
    explicit ZipArchive(zip_t* zip) : m_zip(zip) {}

    zip_t* m_zip;
};

} // namespace vergence
