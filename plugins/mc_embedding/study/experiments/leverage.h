#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <vector>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Exp 6: linear leverage σ²·xᵀ(XᵀX + λI)⁻¹x of the last layer, with the full inverse (16.15). Not
/// a Bayesian posterior of the network.
struct LeverageResult {
    double lambda = 1, noiseVariance = 1; ///< λ, σ²
    std::vector<double> scores;           ///< one per row of `queries`
    double effectiveParameters = 0;       ///< Σ s²/(s² + λ)
    double secondsPerImage = 0;           ///< inverse and scores together
};
/// σ² = 1. features [n, D] make the inverse, queries [m, D] are scored.
LeverageResult linearLeverage(const Matrix& features, const Matrix& queries, double lambda = 1);

/// λ and σ² by maximal evidence of a ridge regression of `targets` [n, C] (one-hot labels or
/// logits) on the features. Source: Bayesian Interpolation (1992), the fixed point of α and β.
struct Evidence {
    double lambda = 1, noiseVariance = 1;
    int iterations = 0;
    bool converged = false;
};
Evidence ridgeEvidence(const Matrix& features, const Matrix& targets);
LeverageResult linearLeverage(const Matrix& features, const Matrix& queries,
                              const Evidence& evidence);
nlohmann::json toJson(const LeverageResult& result);

} // namespace vergence::mc_embedding
