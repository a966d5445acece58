#include "plugins/mc_embedding/study/experiments/synthetic_natural.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/study/experiments/score_comparison.h"

namespace vergence::mc_embedding {

namespace {

SyntheticNaturalResult::Group groupOf(const std::string& name, const std::vector<double>& scores)
{
    const double n = static_cast<double>(scores.size());
    double mean = 0, squares = 0;
    for (const double score : scores)
        mean += score / n;
    for (const double score : scores)
        squares += (score - mean) * (score - mean);
    return {name, scores.size(), mean,
            scores.size() > 1 ? Figure(std::sqrt(squares / (n - 1) / n))
                              : Figure::none("needs two images")};
}

Figure chanceHigher(const std::vector<double>& earlier, const std::vector<double>& later)
{
    std::vector<double> scores = earlier;
    scores.insert(scores.end(), later.begin(), later.end());
    std::vector<char> isLater(earlier.size(), 0);
    isLater.resize(scores.size(), 1);
    return auroc(scores, isLater);
}

} // namespace

const std::vector<std::string>& syntheticNaturalOrder()
{
    static const std::vector<std::string> kOrder = {"solid", "gradient", "noise", "natural"};
    return kOrder;
}

SyntheticNaturalResult syntheticNatural(const Matrix& scores, std::span<const std::string> groups)
{
    expects(groups.size() == scores.columns && scores.rows > 0,
            "syntheticNatural: a group for every image");
    const std::vector<double> means = meansOverTrials(scores);
    const std::vector<std::string>& order = syntheticNaturalOrder();
    std::vector<std::vector<double>> members(order.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto found = std::find(order.begin(), order.end(), groups[i]);
        expects(found != order.end(),
                "syntheticNatural: groups are solid, gradient, noise, natural");
        members[static_cast<std::size_t>(found - order.begin())].push_back(means[i]);
    }
    SyntheticNaturalResult result;
    const std::vector<double>* before = nullptr;
    result.isExpectedOrder = true;
    for (std::size_t g = 0; g < order.size(); ++g) {
        if (members[g].empty()) {
            result.missing.push_back(order[g]);
            continue;
        }
        result.groups.push_back(groupOf(order[g], members[g]));
        if (before) {
            result.laterIsHigher.push_back(chanceHigher(*before, members[g]));
            const std::size_t last = result.groups.size() - 1;
            result.isExpectedOrder &= result.groups[last - 1].mean < result.groups[last].mean;
        }
        before = &members[g];
    }
    result.isExpectedOrder &= result.missing.empty();
    return result;
}

nlohmann::json toJson(const SyntheticNaturalResult& result)
{
    nlohmann::json groups = nlohmann::json::array();
    for (std::size_t i = 0; i < result.groups.size(); ++i) {
        const auto& group = result.groups[i];
        nlohmann::json json = {
            {"name", group.name}, {"num_images", group.images}, {"mean", group.mean}};
        setFigure(json, "standard_error", group.error);
        if (i > 0)
            setFigure(json, "higher_than_previous", result.laterIsHigher[i - 1]);
        groups.push_back(std::move(json));
    }
    nlohmann::json json = {{"groups", groups},
                           {"expected_order", syntheticNaturalOrder()},
                           {"is_expected_order", result.isExpectedOrder}};
    if (!result.missing.empty())
        setFigure(
            json, "is_expected_order",
            Figure::none(fmt::format("needs pictures of {}", fmt::join(result.missing, ", "))));
    return json;
}

} // namespace vergence::mc_embedding
