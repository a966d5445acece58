#include "plugins/mc_embedding/study/summaries.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plugins/mc_embedding/statistics/cloud.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/study/figures_json.h"
#include "plugins/mc_embedding/study/geometry.h"

namespace vergence::mc_embedding {

namespace {

using nlohmann::json;

constexpr const char* kSchema = "mc-embedding/1";

Reliability reliabilityOf(const ModelStudy& study, const std::string& score, std::size_t t)
{
    return reliability(study.scores.at(score)[t], study.passes[t], study.alpha);
}

/// Rank correlation of the trial means of every two studies, raw and without their noise.
json crossSpearman(const std::vector<const ModelStudy*>& studies, const std::string& score)
{
    json raw = json::array(), clean = json::array(), labels = json::array();
    for (const ModelStudy* a : studies) {
        labels.push_back(a->label);
        json rawRow = json::array(), cleanRow = json::array();
        for (const ModelStudy* b : studies) {
            const std::size_t ta = a->passes.size() - 1, tb = b->passes.size() - 1;
            const Figure rho = spearman(meansOverTrials(a->scores.at(score)[ta]),
                                        meansOverTrials(b->scores.at(score)[tb]));
            rawRow.push_back(numberOrNull(rho.value));
            const Figure corrected = rho.exists()
                                         ? disattenuated(rho.value, reliabilityOf(*a, score, ta),
                                                         reliabilityOf(*b, score, tb))
                                         : rho;
            cleanRow.push_back(numberOrNull(a == b ? 1.0 : corrected.value));
        }
        raw.push_back(rawRow);
        clean.push_back(cleanRow);
    }
    return {{"models", labels}, {"spearman", raw}, {"spearman_disattenuated", clean}};
}

Figure difference(const Figure& a, const Figure& b)
{
    return a.exists() && b.exists() ? Figure(a.value - b.value)
                                    : Figure::none("one side has no value");
}

/// Means over the trials of Exp 0b, per image.
std::vector<double> geometryMeans(const GeometryTrials& geometry, const std::string& name)
{
    const auto found = geometry.values.find(name);
    return found == geometry.values.end() ? std::vector<double>() : meansOverTrials(found->second);
}

json spaceGeometry(const ModelStudy& study, const std::string& space, const Matrix& spectra)
{
    const GeometryTrials& geometry = *study.geometry;
    json result;
    for (const char* name :
         {"trace", "offdiag_l1_ratio", "offdiag_fro_ratio", "offdiag_l1_sum", "logdet_pseudo",
          "logdet_eps", "logdet_eps_per_dim", "effective_rank", "anisotropy"}) {
        const std::string key = std::string(name) == "trace" ? "trace_per_dim" : name;
        result[key] = toJson(spreadOf(geometryMeans(geometry, name + ("_" + space))));
    }
    const OffdiagNull null = offdiagNull(static_cast<std::size_t>(geometry.passes),
                                         static_cast<std::size_t>(study.tower.feature));
    result["offdiag_l1_ratio_null"] = null.l1;
    result["offdiag_fro_ratio_null"] = null.frobenius;
    std::vector<double> mean(spectra.columns, 0.0);
    for (std::size_t r = 0; r < spectra.rows; ++r) {
        for (std::size_t c = 0; c < spectra.columns; ++c)
            mean[c] += spectra(r, c) / static_cast<double>(spectra.rows);
    }
    result["eigs_top10_mean"] = numbersOrNull(mean);
    return result;
}

} // namespace

json summaryHeader(const ModelStudy& study, const std::string& experiment)
{
    Index elements = 0;
    for (const Site& site : study.sites)
        elements += site.elements();
    return {{"schema", kSchema},
            {"experiment", experiment},
            {"model", study.label},
            {"dropout", study.p},
            {"trials", study.trials},
            {"passes", study.passes},
            {"num_images", study.means.rows},
            {"variance", study.variance},
            {"placement", study.placement},
            {"activation", study.activation},
            {"precision", study.precision},
            {"sites", {{"live", study.sites.size()}, {"elements_per_pass", elements}}},
            {"weights_sha256", study.weightsSha256},
            {"weights", study.weightsSource},
            {"preprocess", study.preprocess},
            {"warnings", study.warnings},
            {"seconds", study.seconds},
            {"tflops", study.seconds > 0 ? study.flop / study.seconds * 1e-12 : 0.0}};
}

bool isComplete(const ModelStudy& study)
{
    return study.imagesDone > 0 && study.imagesDone == study.means.rows;
}

bool isMeasuredFor(const ModelStudy& study, const std::string& experiment)
{
    return std::find(study.experiments.begin(), study.experiments.end(), experiment) !=
           study.experiments.end();
}

json exp0Summary(const StudyState& state, const ModelStudy& study)
{
    json summary = summaryHeader(study, "exp0_nested_mc");
    summary["nested_extraction"] = true;
    summary["seed"] = state.seed;
    summary["device"] = state.device;
    for (const Site& site : study.sites)
        summary["sites"]["list"].push_back(siteName(site.number, study.tower));
    json& results = summary["results"];
    for (std::size_t t = 0; t < study.passes.size(); ++t) {
        json& cell = results[fmt::format("T={}", study.passes[t])];
        for (const auto& [space, score] :
             {std::pair("pre_norm", "trace_pre"), std::pair("post_norm", "trace_post")}) {
            const Reliability r = reliabilityOf(study, score, t);
            cell[space] = reliabilityJson(r);
            for (const int factor : {2, 4})
                setFigure(cell[space], fmt::format("predicted_icc_at_{}T", factor),
                          r.icc.exists() ? Figure(predictedIcc(r.icc.value, study.passes[t],
                                                               factor * study.passes[t]))
                                         : r.icc);
        }
        for (const auto& [name, values] : study.scores) {
            if (name != "trace_pre" && name != "trace_post")
                cell["other_scores"][name] = reliabilityJson(reliabilityOf(study, name, t));
        }
    }
    return summary;
}

json exp0bSummary(const ModelStudy& study)
{
    const GeometryTrials& geometry = *study.geometry;
    json summary = summaryHeader(study, "exp0b_geometry");
    summary["trials"] = geometry.trials;
    summary["passes"] = geometry.passes;
    summary["pre_norm"] = spaceGeometry(study, "pre", geometry.eigenvaluesPre);
    summary["post_norm"] = spaceGeometry(study, "post", geometry.eigenvaluesPost);
    for (const char* name : {"angular_var", "angular_msq", "circular_variance", "resultant_length"})
        summary["angular"][name] = toJson(spreadOf(geometryMeans(geometry, name)));
    json& correlations = summary["correlations"];
    const auto correlate = [&](const char* name, const char* a, const char* b) {
        setFigure(correlations, name,
                  spearman(geometryMeans(geometry, a), geometryMeans(geometry, b)));
    };
    correlate("trace_pre_trace_post", "trace_pre", "trace_post");
    correlate("trace_pre_angular_var", "trace_pre", "angular_var");
    correlate("trace_post_angular_var", "trace_post", "angular_var");
    correlate("trace_pre_angular_msq", "trace_pre", "angular_msq");
    correlate("trace_post_angular_msq", "trace_post", "angular_msq");
    correlate("trace_post_circular_variance", "trace_post", "circular_variance");
    return summary;
}

json exp4Summary(const std::vector<const ModelStudy*>& studies)
{
    json summary{{"schema", kSchema}, {"experiment", "exp4_recipe"}};
    for (const ModelStudy* study : studies) {
        const std::size_t t = study->passes.size() - 1;
        json& result = summary["results"][study->label];
        result = summaryHeader(*study, "exp4_recipe");
        const Reliability trace = reliabilityOf(*study, "trace_pre", t),
                          angular = reliabilityOf(*study, "angular_var", t);
        result["trace_pre"] = reliabilityJson(trace);
        result["angular_var"] = reliabilityJson(angular);
        setFigure(result, "trace_mean", trace.mean);
        setFigure(result, "angular_mean", angular.mean);
        if (study == studies.front())
            continue;
        const ModelStudy& first = *studies.front();
        const Reliability other = reliabilityOf(first, "trace_pre", first.passes.size() - 1);
        json& delta = summary["comparison"][study->label + " minus " + first.label];
        setFigure(delta, "trace_mean", difference(trace.mean, other.mean));
        setFigure(delta, "snr", difference(trace.snr, other.snr));
        setFigure(delta, "icc", difference(trace.icc, other.icc));
        setFigure(delta, "pairwise_spearman_median",
                  difference(trace.spearmanMedian, other.spearmanMedian));
    }
    summary["cross_model_spearman"] = crossSpearman(studies, "trace_pre");
    summary["cross_model_spearman_angular"] = crossSpearman(studies, "angular_var");
    return summary;
}

json degradationSummary(const ModelStudy& study)
{
    json summary = summaryHeader(study, "degradation");
    summary["gate"] = kDegradationGate;
    for (const DegradedScores& degraded : study.degraded) {
        for (std::size_t t = 0; t < study.passes.size(); ++t) {
            const DegradationOutcome outcome = degradationOutcome(study, degraded, t);
            json& cell =
                summary["results"][degraded.degradation][fmt::format("T={}", study.passes[t])];
            cell = {{"num_images", outcome.images},
                    {"fraction_higher", outcome.fractionHigher},
                    {"mean_clean", outcome.meanClean},
                    {"mean_degraded", outcome.meanDegraded},
                    {"passes", outcome.fractionHigher >= kDegradationGate}};
            setFigure(cell, "wilcoxon_p", outcome.wilcoxonP);
        }
    }
    return summary;
}

json variantsSummary(const std::vector<const ModelStudy*>& variants)
{
    std::vector<NamedScores> ways;
    for (const ModelStudy* study : variants)
        ways.push_back({study->label, study->scores.at("trace_pre").back()});
    json summary{{"schema", kSchema}, {"experiment", "variants"}};
    summary.update(
        toJson(compareScores(ways, variants.front()->passes.back(), variants.front()->alpha)));
    for (const ModelStudy* study : variants)
        summary["results"][study->label] = summaryHeader(*study, "variants");
    return summary;
}

json mnistSummary(const std::vector<const ModelStudy*>& studies)
{
    json summary{{"schema", kSchema}, {"experiment", "mnist_grid"}};
    for (const ModelStudy* study : studies) {
        json& result = summary["results"][study->label];
        result = summaryHeader(*study, "mnist_grid");
        for (const char* name : {"trace_sum", "logdet_eps", "offdiag_l1_sum"}) {
            const auto found = study->scores.find(name);
            if (found != study->scores.end())
                result[name] = toJson(spreadOf(meansOverTrials(found->second.back())));
        }
    }
    return summary;
}

} // namespace vergence::mc_embedding
