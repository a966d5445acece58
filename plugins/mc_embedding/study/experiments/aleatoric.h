#pragma once

#include <optional>
#include <string>

#include "plugins/mc_embedding/study/experiments/prediction_targets.h"

namespace vergence::mc_embedding {

/// The degraded copies of Exp 7 and the clean one, once (16.17).
const std::vector<std::string>& aleatoricVariants();

/// Exp 7: spread over degraded copies as a proxy of aleatoric uncertainty, beside the dropout
/// trace.
struct AleatoricResult {
    std::vector<double> aleatoric; ///< [N] Σ_d Var over variants / D, unbiased
    Figure correlation;            ///< Spearman with the dropout trace
    std::vector<double> sum;       ///< [N] of z-scores
    /// [N] product of z-scores: two values far below the mean give the same as two far above, so it
    /// is reported and not recommended.
    std::vector<double> product;
    std::optional<PredictionQuality> ofAleatoric, ofDropout, ofSum, ofProduct;
};
/// variants: deterministic features [N, D] of every copy; dropout: trace [N].
AleatoricResult aleatoricStudy(std::span<const Matrix> variants, std::span<const double> dropout,
                               const PredictionTargets* targets = nullptr);
nlohmann::json toJson(const AleatoricResult& result);

} // namespace vergence::mc_embedding
