#include "plugins/mc_embedding/study/experiments/rank_stability.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"

namespace vergence::mc_embedding {

std::vector<double> rankStabilityRates()
{
    return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1};
}

RankStabilityResult rankStability(std::span<const double> p, std::span<const Matrix> scores,
                                  int passes, double alpha)
{
    expects(p.size() == scores.size() && !p.empty(), "rankStability: scores for every p");
    expects(std::all_of(p.begin(), p.end(), [](double one) { return one > 0 && one < 1; }),
            "rankStability: p between 0 and 1");
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    RankStabilityResult result;
    std::vector<NamedScores> ways;
    double meanX = 0, meanY = 0, xx = 0, xy = 0;
    for (const std::size_t i : order) {
        result.p.push_back(p[i]);
        ways.push_back({fmt::format("{}", p[i]), scores[i]});
        const std::vector<double> means = meansOverTrials(scores[i]);
        result.meanTrace.push_back(std::accumulate(means.begin(), means.end(), 0.0) /
                                   static_cast<double>(means.size()));
        meanX += std::log(p[i] / (1 - p[i])) / static_cast<double>(p.size());
        meanY += std::log(result.meanTrace.back()) / static_cast<double>(p.size());
    }
    result.comparison = compareScores(ways, passes, alpha);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double x = std::log(result.p[i] / (1 - result.p[i])) - meanX;
        xx += x * x;
        xy += x * (std::log(result.meanTrace[i]) - meanY);
    }
    result.order = xx > 0 && std::isfinite(xy) ? Figure(xy / xx)
                                               : Figure::none("needs two drop probabilities with "
                                                              "traces above 0");
    return result;
}

nlohmann::json toJson(const RankStabilityResult& result)
{
    nlohmann::json json = toJson(result.comparison);
    json["p"] = result.p;
    json["mean_trace"] = result.meanTrace;
    setFigure(json, "order_in_p", result.order);
    return json;
}

} // namespace vergence::mc_embedding
