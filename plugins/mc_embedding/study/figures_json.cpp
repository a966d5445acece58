#include "plugins/mc_embedding/study/figures_json.h"

#include <cmath>

#include "plugins/mc_embedding/statistics/figure_json.h"

namespace vergence::mc_embedding {

nlohmann::json numberOrNull(double value)
{
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json numbersOrNull(std::span<const double> values)
{
    nlohmann::json list = nlohmann::json::array();
    for (const double value : values)
        list.push_back(numberOrNull(value));
    return list;
}

nlohmann::json toJson(const Spread& spread)
{
    nlohmann::json json;
    setFigure(json, "mean", spread.mean);
    setFigure(json, "std", spread.deviation);
    setFigure(json, "median", spread.median);
    setFigure(json, "p25", spread.low);
    setFigure(json, "p75", spread.high);
    return json;
}

} // namespace vergence::mc_embedding
