#include "plugins/mc_embedding/study/experiments/study_inputs.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/study/experiments/leverage.h"
#include "plugins/mc_embedding/study/experiments/semantic_space.h"
#include "plugins/mc_embedding/study/experiments/synthetic_natural.h"

namespace vergence::mc_embedding {

namespace {

nlohmann::json without(const char* reason)
{
    return {{"reason", reason}};
}

/// One row per image, 1 in the column of its class.
Matrix oneHot(std::span<const int> classes, std::size_t count)
{
    Matrix rows(classes.size(), count);
    for (std::size_t i = 0; i < classes.size(); ++i) {
        expects(classes[i] >= 0 && static_cast<std::size_t>(classes[i]) < count,
                "oneHot: classes of the list");
        rows(i, static_cast<std::size_t>(classes[i])) = 1;
    }
    return rows;
}

bool hasLabels(const Ambiguity& ambiguity)
{
    return !ambiguity.truth.empty() && std::all_of(ambiguity.truth.begin(), ambiguity.truth.end(),
                                                   [](int label) { return label >= 0; });
}

nlohmann::json judged(const LeverageResult& result, const PredictionTargets& targets)
{
    nlohmann::json json = toJson(result);
    json.erase("seconds_per_image"); // was taken when the features were measured
    json["prediction"] = toJson(predictionQuality(result.scores, targets));
    return json;
}

} // namespace

bool isKnown(const Matrix& scores)
{
    return !scores.values.empty() && std::all_of(scores.values.begin(), scores.values.end(),
                                                 [](double value) { return std::isfinite(value); });
}

PredictionTargets targetsOf(const Ambiguity& ambiguity, double share)
{
    PredictionTargets targets{
        ambiguity.margin, ambiguity.entropy, ambiguity.promptSensitivity, {}, share};
    for (std::size_t i = 0; hasLabels(ambiguity) && i < ambiguity.truth.size(); ++i)
        targets.isWrong.push_back(ambiguity.predicted[i] != ambiguity.truth[i]);
    return targets;
}

std::vector<PassCloud> passCloudsOf(const ModelStudy& study)
{
    std::vector<PassCloud> clouds;
    const std::size_t dimensions = study.deterministic.columns;
    for (const Cloud& cloud : study.clouds) {
        expects(cloud.image < study.deterministic.rows && cloud.passes.columns == dimensions,
                "passCloudsOf: clouds of measured images");
        const double* row = &study.deterministic.values[cloud.image * dimensions];
        clouds.push_back({cloud.passes, std::vector<double>(row, row + dimensions)});
    }
    return clouds;
}

nlohmann::json meanConvergenceSummary(const ModelStudy& study)
{
    if (study.clouds.empty())
        return without("no passes were kept");
    if (study.passes.size() < 2)
        return without("needs two numbers of passes");
    return toJson(meanConvergence(passCloudsOf(study), study.trials, study.passes));
}

nlohmann::json syntheticNaturalSummary(const ModelStudy& study)
{
    if (!study.synthetic || !isKnown(study.synthetic->trace))
        return without("its pictures were not measured");
    return toJson(syntheticNatural(study.synthetic->trace, study.synthetic->groups));
}

nlohmann::json leverageSummary(const ModelStudy& study, double share)
{
    if (!study.ambiguity)
        return without("the images were not judged against text (exp5)");
    const Ambiguity& ambiguity = *study.ambiguity;
    const Matrix& features = study.deterministic;
    if (features.rows != ambiguity.margin.size() || features.rows < 2)
        return without("needs the deterministic features of all judged images");
    const PredictionTargets targets = targetsOf(ambiguity, share);
    const bool isLabelled = hasLabels(ambiguity);
    const Evidence evidence =
        ridgeEvidence(features, oneHot(isLabelled ? ambiguity.truth : ambiguity.predicted,
                                       ambiguity.classes.size()));
    nlohmann::json json = {
        {"lambda_1", judged(linearLeverage(features, features), targets)},
        {"lambda_by_evidence", judged(linearLeverage(features, features, evidence), targets)}};
    json["lambda_by_evidence"]["converged"] = evidence.converged;
    json["lambda_by_evidence"]["regression_of"] = isLabelled ? "labels" : "predicted classes";
    if (study.leverageSeconds > 0)
        json["seconds_per_image"] = study.leverageSeconds;
    return json;
}

nlohmann::json semanticSpaceSummary(const ModelStudy& study, const Matrix& texts, double logitScale)
{
    if (study.clouds.empty())
        return without("no passes were kept");
    std::vector<Matrix> clouds;
    for (const Cloud& cloud : study.clouds)
        clouds.push_back(cloud.passes);
    nlohmann::json json = toJson(semanticSpace(texts, clouds, logitScale));
    for (nlohmann::json& top : json["top_images"]) // places among the clouds
        top = study.clouds[top.get<std::size_t>()].image;
    return json;
}

} // namespace vergence::mc_embedding
