#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "plugins/mc_embedding/study/experiments/aleatoric.h"
#include "plugins/mc_embedding/study/experiments/leverage.h"
#include "plugins/mc_embedding/study/experiments/score_comparison.h"
#include "plugins/mc_embedding/study/experiments/semantic_space.h"
#include "plugins/mc_embedding/study/experiments/study_inputs.h"
#include "plugins/mc_embedding/study/experiments/text_uncertainty.h"
#include "plugins/mc_embedding/study/later_results.h"
#include "plugins/mc_embedding/study/summaries.h"

namespace vergence::mc_embedding {

namespace {

using nlohmann::json;

/// Rows with a name, columns of numbers.
struct Columns {
    std::string key; ///< heading of the names
    std::vector<std::string> names;
    std::vector<std::pair<std::string, std::vector<double>>> numbers;

    std::string csv() const
    {
        std::string text = key;
        for (const auto& [heading, values] : numbers)
            text += "," + quoted(heading);
        text += "\n";
        for (std::size_t i = 0; i < names.size(); ++i) {
            text += quoted(names[i]);
            for (const auto& [heading, values] : numbers)
                text += std::isfinite(values[i]) ? fmt::format(",{:.9g}", values[i]) : ",";
            text += "\n";
        }
        return text;
    }

private:
    static std::string quoted(const std::string& name)
    {
        if (name.find_first_of(",\"\n") == std::string::npos)
            return name;
        std::string text = "\"";
        for (const char c : name)
            text += c == '"' ? "\"\"" : std::string(1, c);
        return text + "\"";
    }
};

Columns ofImages(const StudyState& state, const ModelStudy& study)
{
    Columns columns{"path", {}, {}};
    for (std::size_t i = 0; i < study.means.rows; ++i)
        columns.names.push_back(state.images.images[i].path);
    return columns;
}

Columns waysTable(const StudyState& state, const ModelStudy& study, const std::string& experiment)
{
    Columns columns = ofImages(state, study);
    for (const WayScores& way : study.ways) {
        if (way.experiment == experiment)
            columns.numbers.emplace_back(way.name, meansOverTrials(way.trace));
    }
    return columns;
}

Columns syntheticTable(const ModelStudy& study)
{
    Columns columns{"group", study.synthetic->groups, {}};
    columns.numbers.emplace_back("trace_pre", meansOverTrials(study.synthetic->trace));
    return columns;
}

Columns leverageTable(const StudyState& state, const ModelStudy& study)
{
    Columns columns = ofImages(state, study);
    columns.numbers.emplace_back("leverage_lambda_1",
                                 linearLeverage(study.deterministic, study.deterministic).scores);
    return columns;
}

Columns aleatoricTable(const StudyState& state, const ModelStudy& study)
{
    std::vector<Matrix> variants{study.deterministic};
    for (const auto& [name, features] : study.degradedFeatures)
        variants.push_back(features);
    const std::vector<double> dropout = meansOverTrials(study.scores.at("trace_pre").back());
    const AleatoricResult result = aleatoricStudy(variants, dropout);
    Columns columns = ofImages(state, study);
    columns.numbers = {
        {"aleatoric", result.aleatoric}, {"dropout", dropout}, {"z_sum", result.sum}};
    return columns;
}

Columns semanticTable(const StudyState& state, const ModelStudy& study)
{
    std::vector<Matrix> clouds;
    Columns columns{"path", {}, {}};
    for (const Cloud& cloud : study.clouds) {
        clouds.push_back(cloud.passes);
        columns.names.push_back(state.images.images[cloud.image].path);
    }
    const SemanticSpaceResult result =
        semanticSpace(study.prompts->features, clouds, study.prompts->logitScale);
    columns.numbers = {{"inside_share", result.insideShare},
                       {"similarity_variance", result.similarityVariance},
                       {"prompt_gap", result.promptGap},
                       {"prompt_entropy", result.promptEntropy}};
    return columns;
}

Columns textTable(const ModelStudy& study)
{
    Columns columns{"prompt", study.texts->prompts, {}};
    std::vector<double> exactness;
    for (const std::string& prompt : study.texts->prompts)
        exactness.push_back(specificity(prompt));
    columns.numbers = {{"specificity", exactness},
                       {"trace_pre", meansOverTrials(study.texts->trace)}};
    return columns;
}

} // namespace

std::string laterCsv(const StudyState& state, const ModelStudy& study,
                     const std::string& experiment)
{
    if (laterSummary(state, study, experiment).contains("reason"))
        return {};
    if (experiment == "exp1" || experiment == "exp3" || experiment == "exp11")
        return waysTable(state, study, experiment).csv();
    if (experiment == "exp2")
        return syntheticTable(study).csv();
    if (experiment == "exp6")
        return leverageTable(state, study).csv();
    if (experiment == "exp7")
        return aleatoricTable(state, study).csv();
    if (experiment == "exp8")
        return semanticTable(state, study).csv();
    if (experiment == "exp10")
        return textTable(study).csv();
    return {};
}

bool writeLater(ArtifactStore& artifacts, const StudyState& state,
                const std::function<bool()>& isStopped)
{
    const auto isOver = [&] { return isStopped && isStopped(); };
    for (const std::string& experiment : laterExperiments()) {
        json overall{{"schema", "mc-embedding/1"}, {"experiment", experiment}};
        for (const ModelStudy& study : state.models) {
            if (!isComplete(study) || !isMeasuredFor(study, experiment))
                continue;
            if (isOver())
                return false;
            const std::string stem = fmt::format("study/{0}/{1}/{0}", experiment, study.label);
            const json summary = laterSummary(state, study, experiment);
            overall["results"][study.label] = summary;
            artifacts.writeText(stem + "_summary.json", prettyJson(summary), "summary",
                                experiment + " of " + study.label);
            if (isOver())
                return false;
            if (const std::string csv = laterCsv(state, study, experiment); !csv.empty())
                artifacts.writeText(stem + ".csv", csv, "images-csv",
                                    experiment + " of " + study.label);
        }
        if (isOver())
            return false;
        if (overall.contains("results"))
            artifacts.writeText(fmt::format("study/{0}/{0}_overall_summary.json", experiment),
                                prettyJson(overall), "summary", experiment);
    }
    return true;
}

} // namespace vergence::mc_embedding
