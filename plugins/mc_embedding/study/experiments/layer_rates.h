#pragma once

#include <cstdint>

#include "plugins/mc_embedding/study/experiments/prediction_targets.h"

namespace vergence::mc_embedding {

inline constexpr std::size_t kDepthGroups = 4;
/// Group of a block in natural order (16.7); the head of SigLIP (block `layers`) is in the last.
std::size_t depthGroup(int block, int layers);

/// A drop probability for every depth group.
using GroupRates = std::vector<double>;
/// The baseline (p everywhere) and `count` candidates, log-uniform in [0.001, 0.1].
std::vector<GroupRates> layerRateCandidates(double baseline, std::size_t count, std::uint64_t seed);

/// Scores of one candidate.
struct RateScores {
    GroupRates rates;
    Matrix scores; ///< [K, N]
};
/// ρ_margin + ρ_entropy + 0.5 ρ_prompt + 0.1 ICC; none where one of them is.
Figure rateObjective(const Matrix& scores, const PredictionTargets& targets, int passes);

/// Exp 11: the best candidate on one half of the images, judged on the other.
struct LayerRatesResult {
    std::vector<GroupRates> rates;
    std::vector<Figure> selection, report; ///< objective of every candidate on either half
    std::size_t best = 0;                  ///< by the selection half
    Figure gain;                           ///< of `best` over the baseline on the report half
    std::vector<std::size_t> selectionImages;
};
/// candidates[0] is the baseline.
LayerRatesResult layerRates(std::span<const RateScores> candidates,
                            const PredictionTargets& targets, int passes, std::uint64_t seed);
nlohmann::json toJson(const LayerRatesResult& result);

} // namespace vergence::mc_embedding
