#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/prediction.h"
#include "plugins/mc_embedding/statistics/ranks.h"
#include "plugins/mc_embedding/study/ambiguity.h"
#include "plugins/mc_embedding/study/resampled_ranks.h"
#include "plugins/mc_embedding/study/summaries.h"

namespace vergence::mc_embedding {

namespace {

using Json = nlohmann::json;

// Outline rule of the experiment, section 8.2.
constexpr double kEntropyGate = 0.3, kHighEntropyGate = 0.6;

/// The images of a study that can be judged: measured, with a finite score.
struct Judged {
    std::vector<double> uncertainty, negativeMargin, entropy, prompt;
    std::vector<char> lowMargin, highEntropy;
    std::vector<std::size_t> index; ///< in the study set
    double marginThreshold = 0, entropyThreshold = 0;
};

Judged judgedOf(const ModelStudy& study, const Exp5Options& options)
{
    expects(study.ambiguity.has_value(), "exp5: the study has no zero-shot judgement");
    const Ambiguity& ambiguity = *study.ambiguity;
    const std::vector<double> u = uncertaintyOf(study, options.metric);
    Judged judged;
    std::vector<double> margins;
    for (std::size_t i = 0; i < std::min(u.size(), ambiguity.margin.size()); ++i) {
        if (!std::isfinite(u[i]) || !std::isfinite(ambiguity.margin[i]))
            continue;
        judged.index.push_back(i);
        judged.uncertainty.push_back(u[i]);
        margins.push_back(ambiguity.margin[i]);
        judged.negativeMargin.push_back(-ambiguity.margin[i]);
        judged.entropy.push_back(ambiguity.entropy[i]);
        judged.prompt.push_back(ambiguity.promptSensitivity[i]);
    }
    expects(!margins.empty(), "exp5: no image is measured yet");
    judged.marginThreshold = quantile(margins, options.quantile);
    judged.entropyThreshold = quantile(judged.entropy, 1 - options.quantile);
    for (std::size_t i = 0; i < margins.size(); ++i) {
        judged.lowMargin.push_back(margins[i] <= judged.marginThreshold);
        judged.highEntropy.push_back(judged.entropy[i] >= judged.entropyThreshold);
    }
    return judged;
}

/// Puts figures with their intervals into an object.
class Metrics {
public:
    Metrics(Json& object, const Exp5Options& options) : m_object(object), m_options(options) {}

    void spearmanOf(const std::string& name, std::span<const double> x, std::span<const double> y)
    {
        if (std::any_of(y.begin(), y.end(), [](double value) { return std::isnan(value); })) {
            put(name, Figure::none("needs two templates"), {});
            return;
        }
        const ResampledRanks ranksX(x), ranksY(y);
        put(name, spearman(x, y), interval(x.size(), [&](std::span<const int> counts) {
                return resampledSpearman(ranksX, ranksY, counts);
            }));
    }
    void aurocOf(const std::string& name, std::span<const double> scores,
                 std::span<const char> positives)
    {
        const ResampledRanks ranks(scores);
        put(name, auroc(scores, positives),
            interval(scores.size(), [&](std::span<const int> counts) {
                return resampledAuroc(ranks, positives, counts);
            }));
    }
    void shareOf(const std::string& name, std::span<const char> hits)
    {
        const auto share = [hits](std::span<const int> counts) {
            double hit = 0, all = 0;
            for (std::size_t i = 0; i < hits.size(); ++i) {
                all += counts[i];
                hit += hits[i] ? counts[i] : 0;
            }
            return Figure(hit / all);
        };
        put(name, share(std::vector<int>(hits.size(), 1)), interval(hits.size(), share));
    }
    void missing(const std::string& name, const std::string& reason)
    {
        put(name, Figure::none(reason), {});
    }

private:
    template <class Statistic>
    Interval interval(std::size_t n, const Statistic& statistic) const
    {
        if (m_options.isStopped && m_options.isStopped())
            return {Figure::none("stopped"), Figure::none("stopped")};
        return bootstrap(
            n, [&](std::span<const std::size_t> drawn) { return statistic(countsOf(drawn, n)); },
            m_options.resamples, m_options.alpha, m_options.seed);
    }
    void put(const std::string& name, const Figure& figure, const Interval& interval)
    {
        setFigure(m_object, name, figure);
        m_object[name + "_ci"] = nullptr;
        if (figure.exists() && interval.low.exists() && interval.high.exists())
            m_object[name + "_ci"] = {interval.low.value, interval.high.value};
        else if (figure.exists())
            m_object[name + "_ci_reason"] = interval.low.reason;
    }

    Json& m_object;
    const Exp5Options& m_options;
};

/// The judged images with a label: what accuracy, error and coverage are about.
struct Labelled {
    std::vector<double> uncertainty;
    std::vector<char> isCorrect, isWrong;
    std::vector<std::size_t> truth, index;
};

Labelled labelledOf(const Judged& judged, const Ambiguity& ambiguity)
{
    Labelled labelled;
    for (std::size_t i = 0; i < judged.index.size(); ++i) {
        const std::size_t image = judged.index[i];
        const int truth = ambiguity.truth[image];
        if (truth < 0)
            continue;
        const bool isCorrect = ambiguity.predicted[image] == truth;
        labelled.uncertainty.push_back(judged.uncertainty[i]);
        labelled.isCorrect.push_back(isCorrect);
        labelled.isWrong.push_back(!isCorrect);
        labelled.truth.push_back(static_cast<std::size_t>(truth));
        labelled.index.push_back(image);
    }
    return labelled;
}

Json figures(std::span<const double> values)
{
    Json list = Json::array();
    for (const double value : values)
        list.push_back(std::isfinite(value) ? Json(value) : Json());
    return list;
}

Json coverageJson(const Labelled& labelled, const Matrix& logits, const Exp5Options& options)
{
    Json list = Json::array();
    if (labelled.truth.size() < 2)
        return list;
    std::vector<std::vector<double>> probabilities;
    for (const std::size_t image : labelled.index)
        probabilities.push_back(
            softmax(std::span(logits.values).subspan(image * logits.columns, logits.columns)));
    for (const double level : options.coverageLevels) {
        const Coverage coverage =
            conformalCoverage(probabilities, labelled.truth, labelled.uncertainty, level,
                              options.halves, options.seed);
        list.push_back({{"level", level},
                        {"coverage", coverage.coverage},
                        {"mean_size", coverage.meanSize},
                        {"median_size", coverage.medianSize},
                        {"size_per_class", coverage.sizePerClass},
                        {"coverage_by_quartile", figures(coverage.coverageByQuartile)},
                        {"size_by_quartile", figures(coverage.sizeByQuartile)},
                        {"halves", options.halves}});
    }
    return list;
}

/// Whether scores follow ambiguity at all; null where a figure is missing.
Json sanityJson(const Json& metrics)
{
    const Json& rho = metrics["spearman_entropy"];
    const Json& area = metrics["auroc_high_entropy"];
    Json sanity{{"spearman_entropy_above", kEntropyGate},
                {"auroc_high_entropy_above", kHighEntropyGate},
                {"passed", nullptr}};
    if (rho.is_number() && area.is_number())
        sanity["passed"] =
            rho.get<double>() > kEntropyGate && area.get<double>() > kHighEntropyGate;
    return sanity;
}

} // namespace

std::vector<double> uncertaintyOf(const ModelStudy& study, const std::string& metric)
{
    const auto found = study.scores.find(metric);
    expects(found != study.scores.end() && !found->second.empty() && found->second.back().rows > 0,
            fmt::format("exp5: the study has no score {}", metric));
    const Matrix& scores = found->second.back();
    std::vector<double> means(scores.columns, std::nan(""));
    for (std::size_t i = 0; i < std::min(scores.columns, study.imagesDone); ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < scores.rows; ++k)
            sum += scores(k, i);
        means[i] = sum / static_cast<double>(scores.rows);
    }
    return means;
}

Json exp5Summary(const ModelStudy& study, const Exp5Options& options)
{
    const Judged judged = judgedOf(study, options);
    const Ambiguity& ambiguity = *study.ambiguity;
    const Labelled labelled = labelledOf(judged, ambiguity);
    Json metrics = Json::object();
    Metrics into(metrics, options);
    into.spearmanOf("spearman_neg_margin", judged.uncertainty, judged.negativeMargin);
    into.spearmanOf("spearman_entropy", judged.uncertainty, judged.entropy);
    into.spearmanOf("spearman_prompt_sensitivity", judged.uncertainty, judged.prompt);
    into.aurocOf("auroc_low_margin", judged.uncertainty, judged.lowMargin);
    into.aurocOf("auroc_high_entropy", judged.uncertainty, judged.highEntropy);
    Json summary{
        {"schema", "mc-embedding/1"},
        {"experiment", "exp5_ambiguity"},
        {"model", study.tower.key},
        {"dropout", study.p},
        {"placement", study.placement},
        {"variance", study.variance},
        {"trials", study.trials},
        {"passes", study.passes.empty() ? Json() : Json(study.passes.back())},
        {"uncertainty", options.metric},
        {"num_images", judged.index.size()},
        {"num_labelled", labelled.index.size()},
        {"num_classes", ambiguity.classes.size()},
        {"templates", ambiguity.templates},
        {"thresholds",
         {{"quantile", options.quantile},
          {"low_margin", judged.marginThreshold},
          {"high_entropy", judged.entropyThreshold}}},
        {"bootstrap",
         {{"resamples", options.resamples}, {"alpha", options.alpha}, {"seed", options.seed}}}};
    Metrics onTop(summary, options);
    if (labelled.index.empty()) {
        into.missing("auroc_error", "no image has a label");
        onTop.missing("accuracy", "no image has a label");
    } else {
        into.aurocOf("auroc_error", labelled.uncertainty, labelled.isWrong);
        onTop.shareOf("accuracy", labelled.isCorrect);
    }
    summary["sanity"] = sanityJson(metrics);
    summary["metrics"] = std::move(metrics);
    summary["conformal"] = coverageJson(labelled, ambiguity.logits, options);
    return summary;
}

Json exp5Overall(const StudyState& state, const Exp5Options& options)
{
    Json overall{{"schema", "mc-embedding/1"},
                 {"experiment", "exp5_ambiguity"},
                 {"results", Json::object()},
                 {"skipped", state.skippedModels}};
    for (const ModelStudy& study : state.models) {
        if (!isMeasuredFor(study, "exp5") && !isMeasuredFor(study, "conformal"))
            continue;
        const bool hasScore = study.scores.contains(options.metric);
        if (study.ambiguity && hasScore && study.imagesDone > 0)
            overall["results"][study.label] = exp5Summary(study, options);
        else
            overall["skipped"].emplace(study.label, !study.ambiguity ? "no text features"
                                                    : hasScore       ? "no image is measured"
                                                               : "no score " + options.metric);
    }
    return overall;
}

} // namespace vergence::mc_embedding
