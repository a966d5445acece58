#pragma once

#include <filesystem>

namespace vergence::mc_embedding {

/// The right to write a cache: a lock file that names its holder by process and boot. The system
/// gives it up when the holder dies, however it dies.
class WriterLock {
public:
    /// Throws InputError that names the holder where there is one, OutputError where the folder
    /// cannot be written or does not know locks.
    explicit WriterLock(const std::filesystem::path& path);
    ~WriterLock();
    WriterLock(const WriterLock&) = delete;
    WriterLock& operator=(const WriterLock&) = delete;

private:
    std::filesystem::path m_path;
    int m_file = -1;
};

} // namespace vergence::mc_embedding
