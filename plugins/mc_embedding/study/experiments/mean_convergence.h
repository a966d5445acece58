#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <vector>

#include "plugins/mc_embedding/statistics/prediction.h"

namespace vergence::mc_embedding {

/// All passes of one image and its features with masks off.
struct PassCloud {
    Matrix passes;                     ///< [K · T, D], trial by trial
    std::vector<double> deterministic; ///< [D]
};

/// How far the mean of T passes is from the deterministic feature. The distance does not go to 0:
/// d²(T) = bias² + v/T, where a slope of −½ in a log-log plot is only seen without bias.
struct MeanConvergenceResult {
    std::vector<int> passes;
    /// Means over images and trials of ‖mean_T − e‖² and of ‖mean_T − e‖ / ‖e‖.
    std::vector<double> squaredDistance, relativeDistance;
    MeanConvergence fit;               ///< of squaredDistance
    std::vector<MeanConvergence> fits; ///< of each image
    double traceSum = 0; ///< mean over images and trials of tr S, what fit.variance estimates
    std::vector<double> sampling; ///< traceSum / T, the part that more passes remove
    Figure logSlope;              ///< of relativeDistance, for comparison with the original
};

/// `passes`: two or more counts, at most T. Every cloud has `trials` · T rows.
MeanConvergenceResult meanConvergence(std::span<const PassCloud> clouds, int trials,
                                      std::span<const int> passes);
nlohmann::json toJson(const MeanConvergenceResult& result);

} // namespace vergence::mc_embedding
