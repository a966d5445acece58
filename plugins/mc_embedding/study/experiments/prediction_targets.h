#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <vector>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// What a score of uncertainty should foretell of every image; section 7.4.
struct PredictionTargets {
    std::vector<double> margin, entropy, promptSensitivity;
    std::vector<char> isWrong; ///< empty without labels
    double share = 0.10; ///< of images that count as ambiguous: lowest margin, highest entropy

    std::size_t size() const { return margin.size(); }
    PredictionTargets part(std::span<const std::size_t> images) const;
};

/// How well it does.
struct PredictionQuality {
    Figure rhoMargin; ///< with −margin
    Figure rhoEntropy, rhoPrompt;
    Figure aurocLowMargin, aurocHighEntropy, aurocError;
};
PredictionQuality predictionQuality(std::span<const double> scores,
                                    const PredictionTargets& targets);
nlohmann::json toJson(const PredictionQuality& quality);

/// (x − mean) / standard deviation (n − 1); all 0 where x is constant.
std::vector<double> zScores(std::span<const double> x);

} // namespace vergence::mc_embedding
