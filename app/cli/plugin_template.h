#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vergence::cli {

/// Writes the sources of a small lab of its own into `folder`, which must not exist yet or be
/// empty: a plugin that is built with CMake against an installed studio. Returns the files,
/// relative to the folder. Throws Error (usage) where `id` is no snake_case name or the folder
/// holds something, OutputError where it cannot be written.
std::vector<std::string> writePluginTemplate(const std::string& id,
                                             const std::filesystem::path& folder);

} // namespace vergence::cli
