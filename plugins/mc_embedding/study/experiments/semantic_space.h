#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Twenty everyday scenes, of which the study takes the span where the user names none.
const std::vector<std::string>& semanticPrompts();

/// Exp 8: how much of the spread lies where texts differ.
struct SemanticSpaceResult {
    std::size_t rank = 0; ///< of the centred text features
    double nullShare = 0; ///< rank / D: share inside of a spread without preferred directions
    // Per image:
    std::vector<double> insideShare;        ///< of the trace, inside the span
    std::vector<double> similarityVariance; ///< over passes, mean over prompts
    std::vector<double> promptGap;          ///< largest − second mean similarity
    std::vector<double> promptEntropy;      ///< of softmax(scale · mean similarity)
    double meanInsideShare = 0;
    std::vector<std::size_t> top; ///< images of largest similarityVariance, at most 20
};
/// texts [P, D], P ≥ 2, any length; clouds: passes [T, D] of every image. Basis: right singular
/// vectors of the centred, normalised text features.
SemanticSpaceResult semanticSpace(const Matrix& texts, std::span<const Matrix> clouds,
                                  double logitScale);
nlohmann::json toJson(const SemanticSpaceResult& result);

} // namespace vergence::mc_embedding
