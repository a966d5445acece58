#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace vergence::sugar {

/// Pixels of an image file, from its first bytes.
struct ImageHeader {
    int width = 0, height = 0;
};

/// PNG or JPEG. Throws InputError: no such file, neither of both, broken header.
ImageHeader readImageHeader(const std::filesystem::path& path);
ImageHeader parseImageHeader(std::span<const std::byte> bytes, const std::filesystem::path& name);

} // namespace vergence::sugar
