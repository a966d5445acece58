#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace vergence::mc_embedding {

/// One picture of a study.
struct StudyImage {
    std::string path;   ///< relative to the folder, forward slashes
    std::string label;  ///< class: parent folder, or what the list says; may be empty
    std::string sha256; ///< of the source file, hex; empty until read
    /// First 4 bytes (little-endian) of the SHA-256, or the index. Specification, section 4.3.
    std::uint32_t maskId = 0;
};

struct ImageSet {
    std::filesystem::path folder;
    std::vector<StudyImage> images;          ///< in drawn order
    bool idsFromIndex = false;               ///< mask ids are places in the set
    std::vector<std::string> labels() const; ///< distinct, in order of first appearance
    std::string digest() const;              ///< SHA-256 over paths and hashes
};

struct SamplingOptions {
    std::string sampling = "stratified"; ///< stratified, uniform, manifest
    std::size_t count = 500;
    std::uint64_t seed = 42;
    bool idsFromIndex = false;         ///< mask_identity = index
    std::function<bool()> isStopped{}; ///< asked while files are listed or made; the set is then of
                                       ///< no use, and may be empty
};

/// First 4 bytes (little-endian) of a SHA-256 in hex.
std::uint32_t maskIdOf(const std::string& sha256);

/// Lists pictures below `folder` and draws from them (section 4.5). Throws InputError where the
/// folder is unreadable or holds none. Fewer than asked: takes all; the caller warns. A smaller
/// count draws the first of what a larger one draws.
ImageSet sampleFolder(const std::filesystem::path& folder, const SamplingOptions& options);
/// JSON {"paths": [...]} as the original writes, plain list of lines, or TSV path<TAB>label; paths
/// relative to `folder` (or to the manifest where empty). Throws InputError with file and place.
ImageSet readImageManifest(const std::filesystem::path& manifest,
                           const std::filesystem::path& folder, const SamplingOptions& options);
void writeImageManifest(const std::filesystem::path& path, const ImageSet& set);
/// The generated families of section 14 as PNG files below `folder`, one subfolder a family, image
/// i being of family i mod 12; those that exist are kept, and the rest is left out once `isStopped`
/// says yes. Throws OutputError.
void writeDemoImages(const std::filesystem::path& folder, std::size_t count, std::uint64_t seed,
                     const std::function<bool()>& isStopped = {});
/// For Exp 2: `count` pictures each of solid, gradient and noise, in subfolders of these names;
/// those that exist are kept, and the rest is left out once `isStopped` says yes. Throws
/// OutputError.
void writeSyntheticImages(const std::filesystem::path& folder, std::size_t count, int side,
                          std::uint64_t seed, const std::function<bool()>& isStopped = {});

} // namespace vergence::mc_embedding
