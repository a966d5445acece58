#include "plugins/mc_embedding/study/experiments/prediction_targets.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

bool isKnown(std::span<const double> x)
{
    return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

/// Nothing where an image has no value, as prompt sensitivity with one template.
Figure spearmanOfKnown(std::span<const double> scores, std::span<const double> target)
{
    return isKnown(target) && isKnown(scores) ? spearman(scores, target)
                                              : Figure::none("not known for every image");
}

} // namespace

PredictionTargets PredictionTargets::part(std::span<const std::size_t> images) const
{
    PredictionTargets result;
    result.share = share;
    for (const std::size_t i : images) {
        result.margin.push_back(margin.at(i));
        result.entropy.push_back(entropy.at(i));
        result.promptSensitivity.push_back(promptSensitivity.at(i));
        if (!isWrong.empty())
            result.isWrong.push_back(isWrong.at(i));
    }
    return result;
}

PredictionQuality predictionQuality(std::span<const double> scores,
                                    const PredictionTargets& targets)
{
    const std::size_t n = scores.size();
    expects(n > 0 && targets.margin.size() == n && targets.entropy.size() == n &&
                targets.promptSensitivity.size() == n &&
                (targets.isWrong.empty() || targets.isWrong.size() == n),
            "predictionQuality: targets of every image");
    expects(isKnown(targets.margin) && isKnown(targets.entropy),
            "predictionQuality: margins and entropies that are finite");
    const double low = quantile(targets.margin, targets.share),
                 high = quantile(targets.entropy, 1 - targets.share);
    std::vector<double> certainty(n);
    std::vector<char> isLow(n), isHigh(n);
    for (std::size_t i = 0; i < n; ++i) {
        certainty[i] = -targets.margin[i];
        isLow[i] = targets.margin[i] <= low;
        isHigh[i] = targets.entropy[i] >= high;
    }
    PredictionQuality quality;
    quality.rhoMargin = spearmanOfKnown(scores, certainty);
    quality.rhoEntropy = spearmanOfKnown(scores, targets.entropy);
    quality.rhoPrompt = spearmanOfKnown(scores, targets.promptSensitivity);
    const auto area = [&](std::span<const char> positives) {
        return isKnown(scores) ? auroc(scores, positives)
                               : Figure::none("not known for every image");
    };
    quality.aurocLowMargin = area(isLow);
    quality.aurocHighEntropy = area(isHigh);
    quality.aurocError =
        targets.isWrong.empty() ? Figure::none("the images have no labels") : area(targets.isWrong);
    return quality;
}

nlohmann::json toJson(const PredictionQuality& quality)
{
    nlohmann::json json = nlohmann::json::object();
    setFigure(json, "spearman_neg_margin", quality.rhoMargin);
    setFigure(json, "spearman_entropy", quality.rhoEntropy);
    setFigure(json, "spearman_prompt_sensitivity", quality.rhoPrompt);
    setFigure(json, "auroc_low_margin", quality.aurocLowMargin);
    setFigure(json, "auroc_high_entropy", quality.aurocHighEntropy);
    setFigure(json, "auroc_error", quality.aurocError);
    return json;
}

std::vector<double> zScores(std::span<const double> x)
{
    double mean = 0, squares = 0;
    for (const double value : x)
        mean += value / static_cast<double>(x.size());
    for (const double value : x)
        squares += (value - mean) * (value - mean);
    const double deviation =
        x.size() > 1 ? std::sqrt(squares / static_cast<double>(x.size() - 1)) : 0;
    std::vector<double> z(x.size(), 0);
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    for (std::size_t i = 0; i < x.size() && *low < *high; ++i)
        z[i] = (x[i] - mean) / deviation;
    return z;
}

} // namespace vergence::mc_embedding
