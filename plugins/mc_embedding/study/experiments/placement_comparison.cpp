#include "plugins/mc_embedding/study/experiments/placement_comparison.h"

#include <numeric>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

std::vector<PlacementType> placementTypes(const TowerShape& tower)
{
    const auto preset = [](const char* name) {
        Placement placement;
        placement.preset = name;
        return placement;
    };
    Placement module = preset("sites");
    module.sites = {siteNumber(tower.layers - 1, SiteCode::Fc2)};
    return {{"A", preset("attention_only")},
            {"B", preset("mlp_only")},
            {"C", preset("stochastic_depth")},
            {"D", module},
            {"E", preset("all_linear")}};
}

PlacementComparisonResult placementComparison(std::span<const PlacementScores> types, int passes,
                                              double alpha)
{
    PlacementComparisonResult result;
    std::vector<NamedScores> ways;
    for (const PlacementScores& type : types) {
        ways.push_back({type.name, type.scores});
        result.meanTrace.push_back(
            std::accumulate(type.scores.values.begin(), type.scores.values.end(), 0.0) /
            static_cast<double>(type.scores.values.size()));
        result.anisotropy.push_back(type.anisotropy.empty()
                                        ? Figure::none("no passes were kept for this placement")
                                        : Figure(quantile(type.anisotropy, 0.5)));
    }
    result.comparison = compareScores(ways, passes, alpha);
    return result;
}

nlohmann::json toJson(const PlacementComparisonResult& result)
{
    nlohmann::json json = toJson(result.comparison);
    json["types"] = nlohmann::json::object();
    for (std::size_t i = 0; i < result.meanTrace.size(); ++i) {
        nlohmann::json& type = json["types"][result.comparison.names[i]];
        type["mean_trace"] = result.meanTrace[i];
        setFigure(type, "anisotropy_median", result.anisotropy[i]);
    }
    return json;
}

} // namespace vergence::mc_embedding
