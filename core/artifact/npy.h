#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace vergence {

/// Floats with their extents, as numpy keeps them.
struct NpyArray {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
};

/// Magic, version and dictionary of NPY 1.0 for little-endian values in C order, padded so that the
/// data start on a multiple of 64. `descr` names their type as numpy does. Source:
/// numpy.lib.format, version 1.0.
std::string npyHeader(const std::vector<std::int64_t>& shape, const std::string& descr = "<f4");

/// One array in a deflated NPZ, written beside and renamed; numpy.load(path)[name] reads it. Throws
/// OutputError.
void writeNpz(const std::filesystem::path& path, const std::string& name,
              std::span<const float> values, const std::vector<std::int64_t>& shape);

/// Little-endian float32 array in C order from an NPY file, or the first one of an NPZ. Throws
/// InputError that says what is different.
NpyArray readNpy(const std::filesystem::path& path);

} // namespace vergence
