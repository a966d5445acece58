#pragma once

#include <filesystem>
#include <string>

namespace vergence {

/// `path` where nothing is there yet, else the first of "name-2.gif", "name-3.gif", … that is free:
/// what people have exported is never replaced unasked.
std::filesystem::path freePath(const std::filesystem::path& path);

/// A word for the file name of an animation that tells it from the others of its run, from the
/// pattern of its pictures: "artifacts/boards/n26/plane-#.png" is "boards-n26-plane".
std::string animationWord(const std::string& pattern);

} // namespace vergence
