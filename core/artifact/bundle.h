#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence {

struct BundleOptions {
    /// Relative to the run folder, config.toml and status.json always included; empty takes
    /// everything but checkpoints, earlier exports, hidden files and links. What belongs to
    /// processes of this computer stays here whatever is chosen.
    std::vector<std::string> files;
    bool includesCheckpoints = false;
    bool anonymisesPaths =
        true; ///< absolute paths, host and user names leave the copied text files
    std::function<void(std::uint64_t done, std::uint64_t total)>
        progress; ///< bytes, from the calling thread
    const std::atomic<bool>* cancelled = nullptr;
};

/// What a bundle takes where no files are named, besides README.txt and manifest.json: relative
/// paths, sorted, and bytes.
std::vector<std::pair<std::string, std::uint64_t>> bundleFiles(const RunFolder& folder);

/// ZIP by libzip: README.txt, manifest.json with the SHA-256 of every file, and the files; PNG, GIF
/// and JPEG stored, the rest deflated; entries sorted, times (UTC) from SOURCE_DATE_EPOCH where
/// set, so that equal runs give equal bytes. Written as
/// `.part` and renamed. Returns false when cancelled (nothing is left). Throws OutputError.
bool writeBundle(const RunFolder& folder, const std::filesystem::path& target,
                 const BundleOptions& options = {});

struct VerifyResult {
    std::vector<std::string> problems; ///< "artifacts/x.png: hash differs from the manifest"
    std::size_t filesChecked = 0;
    bool isGood() const { return problems.empty(); }
};
/// Re-hashes what the manifest of a run folder or of a ZIP names.
VerifyResult verifyRun(const RunFolder& folder);
VerifyResult verifyBundle(const std::filesystem::path& zip);
/// Unpacks a bundle as a run folder below `parent`; refuses absolute paths, "..", links and more
/// than `limitBytes`.
RunFolder openBundle(const std::filesystem::path& zip, const std::filesystem::path& parent,
                     std::uint64_t limitBytes = 64ull << 30);

} // namespace vergence
