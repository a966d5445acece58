#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence::cli {

/// PNG files of a run that differ only in a number, in the order of that number.
struct ImageSequence {
    std::string pattern; ///< "artifacts/focal/eye_*.png"
    std::vector<std::filesystem::path> files;
};

/// Sequences of at least two images below `artifacts` and `previews`.
std::vector<ImageSequence> findSequences(const RunFolder& folder);
/// The files of a shell pattern relative to the run folder, in natural order.
ImageSequence matchSequence(const RunFolder& folder, const std::string& pattern);

} // namespace vergence::cli
