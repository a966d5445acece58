#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence {

/// Pictures of a run that belong together as frames of an animation.
struct ImageSequence {
    std::string pattern; ///< relative to the run folder: "artifacts/boards/*/eye.png",
                         ///< "artifacts/planes/plane-#.png"
    std::vector<std::filesystem::path> frames; ///< absolute, in natural order
};

/// Groups the PNG and JPEG files below artifacts and previews: files of one name in sibling folders
/// (`*`), and files of one folder whose names differ in a number (`#`). Only groups of two or more;
/// longest first.
std::vector<ImageSequence> findImageSequences(const RunFolder& folder);

/// "plane-2" before "plane-10": runs of digits compare as numbers.
bool naturalLess(const std::string& a, const std::string& b);

} // namespace vergence
