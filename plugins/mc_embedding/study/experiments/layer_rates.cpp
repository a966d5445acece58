#include "plugins/mc_embedding/study/experiments/layer_rates.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/io/image_random.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/reliability.h"
#include "plugins/mc_embedding/study/experiments/score_comparison.h"

namespace vergence::mc_embedding {

namespace {

// Owners of the draws, apart from those of images.
constexpr std::uint32_t kRatesOwner = 0x52415445, kHalvesOwner = 0x48414C46;

Matrix columnsOf(const Matrix& scores, std::span<const std::size_t> images)
{
    Matrix part(scores.rows, images.size());
    for (std::size_t k = 0; k < scores.rows; ++k) {
        for (std::size_t i = 0; i < images.size(); ++i)
            part(k, i) = scores(k, images[i]);
    }
    return part;
}

/// Half of the images and the others, each ascending.
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> halves(std::size_t count,
                                                                     std::uint64_t seed)
{
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    Draws draws(seed, Purpose::Sampling, kHalvesOwner);
    for (std::size_t i = 0; i + 1 < count; ++i)
        std::swap(all[i], all[i + draws.below(static_cast<std::uint32_t>(count - i))]);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::pair result{std::vector<std::size_t>(all.begin(), middle),
                     std::vector<std::size_t>(middle, all.end())};
    std::sort(result.first.begin(), result.first.end());
    std::sort(result.second.begin(), result.second.end());
    return result;
}

} // namespace

std::size_t depthGroup(int block, int layers)
{
    expects(layers > 0 && block >= 0 && block <= layers, "depthGroup: a block of the tower");
    const auto group =
        static_cast<std::size_t>(block) * kDepthGroups / static_cast<std::size_t>(layers);
    return std::min(group, kDepthGroups - 1);
}

std::vector<GroupRates> layerRateCandidates(double baseline, std::size_t count, std::uint64_t seed)
{
    constexpr double kLow = 0.001, kHigh = 0.1;
    std::vector<GroupRates> candidates = {GroupRates(kDepthGroups, baseline)};
    Draws draws(seed, Purpose::Sampling, kRatesOwner);
    for (std::size_t i = 0; i < count; ++i) {
        GroupRates rates;
        for (std::size_t group = 0; group < kDepthGroups; ++group)
            rates.push_back(kLow * std::pow(kHigh / kLow, draws.uniform()));
        candidates.push_back(std::move(rates));
    }
    return candidates;
}

Figure rateObjective(const Matrix& scores, const PredictionTargets& targets, int passes)
{
    const PredictionQuality quality = predictionQuality(meansOverTrials(scores), targets);
    const Figure icc = reliability(scores, passes).icc;
    for (const Figure& part : {quality.rhoMargin, quality.rhoEntropy, quality.rhoPrompt, icc}) {
        if (!part.exists())
            return part;
    }
    return quality.rhoMargin.value + quality.rhoEntropy.value + 0.5 * quality.rhoPrompt.value +
           0.1 * icc.value;
}

LayerRatesResult layerRates(std::span<const RateScores> candidates,
                            const PredictionTargets& targets, int passes, std::uint64_t seed)
{
    expects(!candidates.empty(), "layerRates: the baseline or more");
    const auto [selection, report] = halves(targets.size(), seed);
    const PredictionTargets first = targets.part(selection), second = targets.part(report);
    LayerRatesResult result;
    result.selectionImages = selection;
    for (const RateScores& candidate : candidates) {
        expects(candidate.scores.columns == targets.size(), "layerRates: scores of every image");
        result.rates.push_back(candidate.rates);
        result.selection.push_back(
            rateObjective(columnsOf(candidate.scores, selection), first, passes));
        result.report.push_back(rateObjective(columnsOf(candidate.scores, report), second, passes));
        const std::size_t last = result.selection.size() - 1;
        const Figure &now = result.selection[last], &best = result.selection[result.best];
        if (now.exists() && (!best.exists() || now.value > best.value))
            result.best = last;
    }
    const Figure &chosen = result.report[result.best], &baseline = result.report[0];
    result.gain = !chosen.exists()     ? chosen
                  : !baseline.exists() ? baseline
                                       : Figure(chosen.value - baseline.value);
    return result;
}

nlohmann::json toJson(const LayerRatesResult& result)
{
    nlohmann::json candidates = nlohmann::json::array();
    for (std::size_t i = 0; i < result.rates.size(); ++i) {
        nlohmann::json candidate = {{"rates", result.rates[i]}, {"is_baseline", i == 0}};
        setFigure(candidate, "selection_objective", result.selection[i]);
        setFigure(candidate, "report_objective", result.report[i]);
        candidates.push_back(std::move(candidate));
    }
    nlohmann::json json = {{"candidates", candidates},
                           {"best", result.best},
                           {"selection_images", result.selectionImages}};
    setFigure(json, "gain_on_report_half", result.gain);
    return json;
}

} // namespace vergence::mc_embedding
