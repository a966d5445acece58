#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace vergence::live::testing {

/// What the ONNX library (its checker, then its strict shape inference) says against a file: empty
/// where it finds nothing wrong, nullopt where the tests were built without that library.
std::optional<std::string> onnxComplaint(const std::filesystem::path& path);

} // namespace vergence::live::testing
