#pragma once

#include "plugins/mc_embedding/compute/sites.h"
#include "plugins/mc_embedding/study/experiments/score_comparison.h"

namespace vergence::mc_embedding {

/// One of the types A to E of Exp 3.
struct PlacementType {
    std::string letter; ///< "A"
    Placement placement;
};
/// A attention, B MLP, C stochastic depth per image, D one module, E all linears; in the corrected
/// forms of section 3.4. What module D is was an accident of names (16.8); here it is fc2 of the
/// last block, by number.
std::vector<PlacementType> placementTypes(const TowerShape& tower);

/// What was measured with one type.
struct PlacementScores {
    std::string name;
    Matrix scores;                  ///< [K, N]
    std::vector<double> anisotropy; ///< λ₁ / tr of every image that has one
};

/// Exp 3: the same images under different placements.
struct PlacementComparisonResult {
    ScoreComparison comparison;
    std::vector<double> meanTrace;
    std::vector<Figure> anisotropy; ///< median over images
};
PlacementComparisonResult placementComparison(std::span<const PlacementScores> types, int passes,
                                              double alpha = 0.05);
nlohmann::json toJson(const PlacementComparisonResult& result);

} // namespace vergence::mc_embedding
