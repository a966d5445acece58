#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace vergence {

/// Whole file as bytes. Throws InputError that names the path and the system's reason.
std::string readFile(const std::filesystem::path& path);

/// Writes to a temporary neighbour, flushes to disk and renames over `path`, so that readers see
/// old or new, never half. Throws OutputError (with diskIsFull() where that is the reason); the
/// temporary file is removed then.
void writeFileAtomic(const std::filesystem::path& path, std::string_view bytes);
void writeFileAtomic(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// A file that appears under its name only when commit() succeeds. For writers that need a path
/// (ZIP, GIF).
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path target);
    ~AtomicFile(); ///< removes the temporary file unless committed
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    const std::filesystem::path& temporaryPath() const { return m_temporary; }
    void commit(); ///< flush and rename; throws OutputError

private:
    std::filesystem::path m_target, m_temporary;
    bool m_committed = false;
};

/// Appends whole lines to a file that other processes may read meanwhile; each append is one write
/// call.
class AppendFile {
public:
    explicit AppendFile(const std::filesystem::path&
                            path); ///< opens or creates, cuts a torn last line; throws OutputError
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    void append(std::string_view lines); ///< throws OutputError; a partial write is cut back before

private:
    std::filesystem::path m_path;
    int m_descriptor = -1;
};

/// Free bytes for this user on the file system of `path`.
std::uintmax_t freeBytes(const std::filesystem::path& path);

} // namespace vergence
