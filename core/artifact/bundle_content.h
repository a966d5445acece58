#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/artifact/bundle.h"

namespace vergence {

/// One file of a bundle: from memory, or `bytes` bytes of `file`.
struct BundleEntry {
    std::string path;
    std::filesystem::path file; ///< empty where the text is in memory
    std::string text;
    std::uint64_t bytes = 0;
    std::string sha256;
    std::time_t time = 0;
    ino_t inode = 0; ///< of `file` when it was hashed
};

/// Chooses, anonymises and hashes the files of a run, and adds README.txt and manifest.json; sorted
/// by path. `advance` hears bytes done and returns false to cancel; the result is empty then.
/// Throws InputError for missing files.
std::vector<BundleEntry> gatherBundle(const RunFolder& folder, const BundleOptions& options,
                                      const std::function<bool(std::uint64_t)>& advance);
/// Bytes that gatherBundle() will read.
std::uint64_t bundleBytes(const RunFolder& folder, const BundleOptions& options);

} // namespace vergence
