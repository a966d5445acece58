#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace vergence {

/// A file as read-only memory; pages are read when they are touched. Move-only.
class MappedFile {
public:
    /// Throws InputError that names the file and the reason.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    std::span<const std::byte> bytes() const { return {m_data, m_size}; }

private:
    const std::byte* m_data = nullptr;
    std::size_t m_size = 0;
};

} // namespace vergence
