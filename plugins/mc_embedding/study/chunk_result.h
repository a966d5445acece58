#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/safetensors.h"
#include "plugins/mc_embedding/compute/moments.h"
#include "plugins/mc_embedding/study/plan.h"

namespace vergence::mc_embedding {

/// What was measured of the images [first, first + images) of a study. Layouts are those of the
/// file; everything but features is F64.
struct ChunkResult {
    std::size_t first = 0, images = 0, dimensions = 0; ///< of texts no features are kept: 0
    int trials = 0;
    std::vector<int> passes;
    std::vector<float> deterministic;                  ///< [B, D]
    std::map<std::string, std::vector<double>> scores; ///< [T, K, B]; Weighted ones are not there
    std::vector<double> variances; ///< [T, K, B, D], where Weighted scores are wanted; else empty
    std::vector<double> moments;   ///< [K, 4, B, D]: S1, S2, post S1, post S2 at the largest T;
                                   ///< empty where K = 0 and for texts
    int geometryTrials = 0;
    std::map<std::string, std::vector<double>> geometry; ///< [K', B]
    std::vector<double> eigenvaluesPre, eigenvaluesPost; ///< [K', B, 10]
    std::vector<std::size_t> cloudImages;                ///< in the chunk
    std::vector<float> clouds;                           ///< [cloudImages, K, T, D]
    std::optional<DType> storedFeatures;                 ///< F16 or F32, as the file has them
    std::vector<float> features; ///< [K, T, B, D] of all images where they are stored; else empty

    std::size_t passIndex(int t) const; ///< of passes; their count where it is not there
    std::vector<HostTensor> tensors() const;
    std::map<std::string, std::string> metadata() const;
    /// Throws InputError where something is missing or has another size.
    static ChunkResult from(const SafetensorsFile& file, const std::string& source);
};

/// The chunks of one measurement as files, written whole or not at all. Every file carries the
/// fingerprint of all that its numbers depend on and of its images, so that it is never taken for
/// another's.
class ChunkStore {
public:
    /// `imageKeys`: what identifies each image of the study. `others`: folders of earlier runs.
    ChunkStore(std::filesystem::path folder, std::vector<std::filesystem::path> others,
               std::string fingerprint, std::vector<std::string> imageKeys);

    /// A stored chunk that begins at image `first`, lies within `most` images and was measured
    /// under the same settings; trials and passes may differ. Own files before those of others, the
    /// one with most images first. Damaged files are skipped with a line in the log.
    std::optional<ChunkResult> find(std::size_t first, std::size_t most) const;
    void write(const ChunkResult& result) const; ///< throws OutputError

private:
    std::optional<ChunkResult> readIfOurs(const std::filesystem::path& path,
                                          std::size_t most) const;
    std::string imagesDigest(std::size_t first, std::size_t count) const;

    std::filesystem::path m_folder;
    std::vector<std::filesystem::path> m_others;
    std::string m_fingerprint;
    std::vector<std::string> m_imageKeys;
};

} // namespace vergence::mc_embedding
