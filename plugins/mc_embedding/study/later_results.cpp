#include "plugins/mc_embedding/study/later_results.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/mc_embedding/study/ambiguity.h"
#include "plugins/mc_embedding/study/experiments/aleatoric.h"
#include "plugins/mc_embedding/study/experiments/layer_rates.h"
#include "plugins/mc_embedding/study/experiments/leverage.h"
#include "plugins/mc_embedding/study/experiments/placement_comparison.h"
#include "plugins/mc_embedding/study/experiments/rank_stability.h"
#include "plugins/mc_embedding/study/experiments/study_inputs.h"
#include "plugins/mc_embedding/study/experiments/text_uncertainty.h"
#include "plugins/mc_embedding/study/experiments/tracking_demo.h"
#include "plugins/mc_embedding/study/study_numbers.h"
#include "plugins/mc_embedding/study/summaries.h"

namespace vergence::mc_embedding {

namespace {

using nlohmann::json;

constexpr std::size_t kDemoFrames = 40;

json without(const std::string& reason)
{
    return {{"reason", reason}};
}

/// Those of an experiment that were measured to the end, by name.
std::vector<const WayScores*> waysOf(const ModelStudy& study, const std::string& experiment)
{
    std::vector<const WayScores*> ways;
    for (const WayScores& way : study.ways) {
        if (way.experiment == experiment && isKnown(way.trace))
            ways.push_back(&way);
    }
    std::sort(ways.begin(), ways.end(), [](const auto* a, const auto* b) {
        return std::pair(a->p, a->name) < std::pair(b->p, b->name);
    });
    return ways;
}

json exp1(const ModelStudy& study)
{
    std::vector<double> rates;
    std::vector<Matrix> scores;
    for (const WayScores* way : waysOf(study, "exp1")) {
        rates.push_back(way->p);
        scores.push_back(way->trace);
    }
    if (rates.size() < 2)
        return without("fewer than two drop probabilities were measured to the end");
    return toJson(rankStability(rates, scores, study.passes.back(), study.alpha));
}

json exp3(const ModelStudy& study)
{
    std::vector<PlacementScores> types;
    for (const WayScores* way : waysOf(study, "exp3")) {
        PlacementScores type{way->name, way->trace, {}};
        if (isKnown(way->anisotropy))
            type.anisotropy = meansOverTrials(way->anisotropy);
        types.push_back(std::move(type));
    }
    if (types.size() < 2)
        return without("fewer than two placements suit the model or were measured to the end");
    return toJson(placementComparison(types, study.passes.back(), study.alpha));
}

/// Of images that count as ambiguous, as in exp5.
double ambiguousShare(const StudyState& state)
{
    return settingOr(state, "quantile", Exp5Options{}.quantile);
}

json exp7(const StudyState& state, const ModelStudy& study)
{
    std::vector<Matrix> variants{study.deterministic};
    for (const std::string& name : aleatoricVariants()) {
        if (name == "none")
            continue;
        const auto found = study.degradedFeatures.find(name);
        if (found == study.degradedFeatures.end() || !isKnown(found->second))
            return without("features of the copy " + name + " were not measured to the end");
        variants.push_back(found->second);
    }
    const std::vector<double> dropout = meansOverTrials(study.scores.at("trace_pre").back());
    if (!study.ambiguity)
        return toJson(aleatoricStudy(variants, dropout));
    const PredictionTargets targets = targetsOf(*study.ambiguity, ambiguousShare(state));
    return toJson(aleatoricStudy(variants, dropout, &targets));
}

json exp8(const ModelStudy& study)
{
    if (!study.prompts)
        return without("there are no features of prompts");
    json result = semanticSpaceSummary(study, study.prompts->features, study.prompts->logitScale);
    result["prompts"] = study.prompts->prompts;
    return result;
}

/// Frames of a file were judged when the run began; else those of a demo are made of the clouds.
json exp9(const StudyState& state, const ModelStudy& study)
{
    if (!state.association.empty())
        return json::parse(state.association);
    const auto found = state.settings.find("exp9_frames");
    const bool isDemo = study.weightsSource == "random weights";
    if (!isDemo || (found != state.settings.end() && found->second != "\"\""))
        return without("there are no frames of a tracker (exp9_frames)");
    if (study.clouds.size() < 2)
        return without("no passes were kept, of which frames could be made");
    const std::vector<double> scores = meansOverTrials(study.scores.at("trace_pre").back());
    const std::vector<double> leverage =
        linearLeverage(study.deterministic, study.deterministic).scores;
    std::vector<double> uncertainty, laplace;
    for (const Cloud& cloud : study.clouds) {
        uncertainty.push_back(scores[cloud.image]);
        laplace.push_back(leverage[cloud.image]);
    }
    if (*std::min_element(uncertainty.begin(), uncertainty.end()) <= 0)
        return without("an image has no spread");
    json result = toJson(associationStudy(
        demoTrackingFrames(passCloudsOf(study), uncertainty, laplace, kDemoFrames, state.seed)));
    result["frames"] = "simulated from the measured passes";
    return result;
}

json exp10(const ModelStudy& study)
{
    if (!study.texts || !isKnown(study.texts->trace))
        return without("its prompts were not measured");
    std::vector<StyledPrompt> prompts;
    for (std::size_t i = 0; i < study.texts->prompts.size(); ++i)
        prompts.push_back({study.texts->styles[i], study.texts->prompts[i]});
    return toJson(textUncertainty(prompts, study.texts->trace, study.passes.back(), study.alpha));
}

json exp11(const StudyState& state, const ModelStudy& study)
{
    if (!study.ambiguity)
        return without("the images were not judged against text, so rates have no target");
    std::vector<RateScores> candidates;
    for (const WayScores* way : waysOf(study, "exp11"))
        candidates.push_back({way->rates, way->trace});
    if (candidates.size() < 2)
        return without("fewer than two candidates were measured to the end");
    return toJson(
        layerRates(candidates, targetsOf(*study.ambiguity), study.passes.back(), state.seed));
}

json numbersOf(const StudyState& state, const ModelStudy& study, const std::string& experiment)
{
    if (experiment == "exp1")
        return exp1(study);
    if (experiment == "exp2")
        return syntheticNaturalSummary(study);
    if (experiment == "exp3")
        return exp3(study);
    if (experiment == "exp6")
        return leverageSummary(study, ambiguousShare(state));
    if (experiment == "exp7")
        return exp7(state, study);
    if (experiment == "exp8")
        return exp8(study);
    if (experiment == "exp9")
        return exp9(state, study);
    if (experiment == "exp10")
        return exp10(study);
    if (experiment == "exp11")
        return exp11(state, study);
    expects(experiment == "mean_convergence", "laterSummary: an experiment of the list");
    return meanConvergenceSummary(study);
}

} // namespace

const std::vector<std::string>& laterExperiments()
{
    static const std::vector<std::string> kNames = {
        "exp1", "exp2", "exp3",  "exp6",  "exp7",
        "exp8", "exp9", "exp10", "exp11", "mean_convergence"};
    return kNames;
}

json laterSummary(const StudyState& state, const ModelStudy& study, const std::string& experiment)
{
    json summary = summaryHeader(study, experiment);
    summary.update(numbersOf(state, study, experiment));
    return summary;
}

} // namespace vergence::mc_embedding
