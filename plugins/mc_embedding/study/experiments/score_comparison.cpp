#include "plugins/mc_embedding/study/experiments/score_comparison.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

nlohmann::json jsonOf(const std::vector<std::vector<Figure>>& matrix)
{
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& row : matrix) {
        nlohmann::json cells = nlohmann::json::array();
        for (const Figure& figure : row)
            cells.push_back(figure.exists() ? nlohmann::json(figure.value) : nlohmann::json());
        rows.push_back(std::move(cells));
    }
    return rows;
}

} // namespace

std::vector<double> meansOverTrials(const Matrix& scores)
{
    std::vector<double> means(scores.columns, 0);
    for (std::size_t k = 0; k < scores.rows; ++k) {
        for (std::size_t i = 0; i < scores.columns; ++i)
            means[i] += scores(k, i);
    }
    for (double& mean : means)
        mean /= static_cast<double>(scores.rows);
    return means;
}

ScoreComparison compareScores(std::span<const NamedScores> ways, int passes, double alpha)
{
    expects(!ways.empty(), "compareScores: one way or more");
    ScoreComparison result;
    std::vector<std::vector<double>> means;
    for (const NamedScores& way : ways) {
        expects(way.scores.rows > 0 && way.scores.columns == ways[0].scores.columns,
                "compareScores: scores of the same images");
        result.names.push_back(way.name);
        result.reliability.push_back(reliability(way.scores, passes, alpha));
        means.push_back(meansOverTrials(way.scores));
    }
    const std::size_t count = ways.size();
    result.spearman.assign(count, std::vector<Figure>(count));
    result.disattenuatedSpearman = result.spearman;
    for (std::size_t a = 0; a < count; ++a) {
        for (std::size_t b = a; b < count; ++b) {
            const Figure raw = spearman(means[a], means[b]);
            const Figure clean =
                !raw.exists() ? raw
                : a == b      ? Figure(1)
                         : disattenuated(raw.value, result.reliability[a], result.reliability[b]);
            result.spearman[a][b] = result.spearman[b][a] = raw;
            result.disattenuatedSpearman[a][b] = result.disattenuatedSpearman[b][a] = clean;
        }
    }
    return result;
}

nlohmann::json toJson(const ScoreComparison& comparison)
{
    nlohmann::json cells = nlohmann::json::object();
    for (std::size_t i = 0; i < comparison.names.size(); ++i)
        cells[comparison.names[i]] = reliabilityJson(comparison.reliability[i]);
    return {{"names", comparison.names},
            {"reliability", cells},
            {"spearman", jsonOf(comparison.spearman)},
            {"spearman_disattenuated", jsonOf(comparison.disattenuatedSpearman)}};
}

} // namespace vergence::mc_embedding
