#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/dtype.h"
#include "core/compute/view.h"

namespace vergence {

/// One tensor as the header of a safetensors file describes it. Used by the reader alone.
struct SafetensorsEntry {
    std::string name;
    DType dtype = DType::F32;
    std::vector<Index> shape;
    std::uint64_t begin = 0, end = 0; ///< bytes after the header
};

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> entries; ///< by ascending offset
    std::map<std::string, std::string> metadata;
};

/// Throws the InputError of a safetensors file that cannot be read.
[[noreturn]] void failSafetensors(const std::string& source, const std::string& reason);

/// Parses and checks everything: types, shapes, offsets without overlap or hole, `dataBytes` used
/// to the last byte. Throws InputError that starts with `source` and names the tensor at fault.
SafetensorsHeader parseSafetensorsHeader(std::string_view json, std::uint64_t dataBytes,
                                         const std::string& source);

/// A whole file in memory: its header and the data behind it.
struct SafetensorsLayout {
    SafetensorsHeader header;
    std::span<const std::byte> data;
};
/// Throws InputError as above, also where the file is too short for its header.
SafetensorsLayout layOutSafetensors(std::span<const std::byte> file, const std::string& source);

} // namespace vergence
