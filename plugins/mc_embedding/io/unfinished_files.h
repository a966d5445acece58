#pragma once

#include <chrono>
#include <filesystem>

namespace vergence::mc_embedding {

/// Removes what writers that died left below a folder: hidden files ".….part" that nobody has
/// touched for `age`. 0 where no other process writes there. Returns how many.
std::size_t removeUnfinished(const std::filesystem::path& folder, std::chrono::seconds age);

} // namespace vergence::mc_embedding
