#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

#include "plugins/mc_embedding/statistics/reliability.h"

namespace vergence::mc_embedding {

/// Scores of one way of measuring the same images.
struct NamedScores {
    std::string name;
    Matrix scores; ///< [K, N]
};

/// Reliability of every way and agreement of all pairs.
struct ScoreComparison {
    std::vector<std::string> names;
    std::vector<Reliability> reliability;
    /// Spearman of the means over trials; disattenuated: what it would be without noise, so that
    /// noise is not mistaken for disagreement. Symmetric, row by row.
    std::vector<std::vector<Figure>> spearman, disattenuatedSpearman;
};

/// Mean over trials of every image, [N].
std::vector<double> meansOverTrials(const Matrix& scores);
ScoreComparison compareScores(std::span<const NamedScores> ways, int passes, double alpha = 0.05);
/// {"<name>": reliability, …} under "reliability", matrices with null where there is no number.
nlohmann::json toJson(const ScoreComparison& comparison);

} // namespace vergence::mc_embedding
