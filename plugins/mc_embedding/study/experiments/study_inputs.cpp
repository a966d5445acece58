#include "plugins/mc_embedding/study/experiments/study_inputs.h"

#include <algorithm>

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
    json["prediction"] = toJson(predictionQuality(result.scores, targets));
    return json;
}

} // namespace

PredictionTargets targetsOf(const Ambiguity& ambiguity)
{
    PredictionTargets targets{ambiguity.margin, ambiguity.entropy, ambiguity.promptSensitivity, {}};
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

nlohmann::json syntheticNaturalSummary(const ModelStudy& study, const ImageSet& images)
{
    const auto found = study.scores.find("trace_pre");
    if (found == study.scores.end() || found->second.empty())
        return without("trace_pre was not measured");
    const Matrix& scores = found->second.back();
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < scores.columns && i < images.images.size(); ++i)
        groups.push_back(images.images[i].label);
    const std::vector<std::string>& known = syntheticNaturalOrder();
    if (!std::all_of(groups.begin(), groups.end(), [&](const std::string& group) {
            return std::find(known.begin(), known.end(), group) != known.end();
        }))
        return without("the folders of the images are not solid, gradient, noise and natural");
    return toJson(syntheticNatural(scores, groups));
}

nlohmann::json leverageSummary(const ModelStudy& study)
{
    if (!study.ambiguity)
        return without("the images were not judged against text (exp5)");
    const Ambiguity& ambiguity = *study.ambiguity;
    const Matrix& features = study.deterministic;
    if (features.rows != ambiguity.margin.size() || features.rows < 2)
        return without("needs the deterministic features of all judged images");
    const PredictionTargets targets = targetsOf(ambiguity);
    const bool isLabelled = hasLabels(ambiguity);
    const Evidence evidence =
        ridgeEvidence(features, oneHot(isLabelled ? ambiguity.truth : ambiguity.predicted,
                                       ambiguity.classes.size()));
    nlohmann::json json = {
        {"lambda_1", judged(linearLeverage(features, features), targets)},
        {"lambda_by_evidence", judged(linearLeverage(features, features, evidence), targets)}};
    json["lambda_by_evidence"]["converged"] = evidence.converged;
    json["lambda_by_evidence"]["regression_of"] = isLabelled ? "labels" : "predicted classes";
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
