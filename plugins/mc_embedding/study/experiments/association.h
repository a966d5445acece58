#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// What a tracker has to decide in one frame. Rows are tracks, columns detections.
struct TrackingFrame {
    std::vector<int> tracks;         ///< [R] identities
    std::vector<int> truth;          ///< [C] identity of every detection
    Matrix motion, appearance;       ///< [R, C] costs
    std::vector<double> uncertainty; ///< [C] of the detections' embeddings, above 0
    std::vector<double> laplace;     ///< [C] the same by another method, or empty
};
/// {"frames": [{"tracks": […], "truth": […], "motion": [[…]], "appearance": [[…]],
/// "uncertainty": […], "laplace": […]}, …]}. Throws InputError with the frame and the field.
std::vector<TrackingFrame> readTrackingFrames(const std::filesystem::path& path);

/// cost = α · motion + β · appearance / max(u, ε), u divided by its median over all frames, which
/// would otherwise change β without saying so.
struct AssociationOptions {
    double alpha = 1, beta = 1, epsilon = 0.1;
};

struct AssociationQuality {
    std::size_t detections = 0;     ///< whose track is there
    double accuracy = 0;            ///< share of them that got it
    std::size_t switches = 0;       ///< an identity gets another track than the last time
    std::size_t fragmentations = 0; ///< an identity loses its track and gets it again later
};
/// Exp 9.
struct AssociationResult {
    AssociationQuality baseline; ///< u = 1
    AssociationQuality adaptive; ///< u from `uncertainty`
    AssociationQuality oracle;   ///< u = 10 exactly where appearance alone would go wrong, else 1
    AssociationQuality laplace;  ///< u from `laplace`
    bool hasLaplace = false;
};
AssociationResult associationStudy(const std::vector<TrackingFrame>& frames,
                                   const AssociationOptions& options = {});
nlohmann::json toJson(const AssociationResult& result);

} // namespace vergence::mc_embedding
