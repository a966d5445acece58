#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/charts.h"
#include "plugins/mc_embedding/report/published.h"
#include "plugins/mc_embedding/statistics/prediction.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

/// Scores with the judgement of the same images.
struct Judged {
    std::vector<double> score, margin, entropy;
    std::vector<char> isWrong; ///< empty without labels
    std::vector<std::size_t> images;
};

std::optional<Judged> judged(const StudyState& state, const Look& look)
{
    const auto scores = scoresOf(state, look);
    if (!scores || !state.models[look.model].ambiguity)
        return std::nullopt;
    const Ambiguity& ambiguity = *state.models[look.model].ambiguity;
    const std::vector<double> means = meansOverTrials(*scores);
    Judged judged;
    bool hasLabels = !ambiguity.truth.empty();
    for (std::size_t i = 0; i < means.size(); ++i) {
        const std::size_t image = scores->images[i];
        if (image >= ambiguity.margin.size() || !std::isfinite(ambiguity.margin[image]))
            continue;
        judged.score.push_back(means[i]);
        judged.margin.push_back(ambiguity.margin[image]);
        judged.entropy.push_back(ambiguity.entropy[image]);
        judged.images.push_back(image);
        hasLabels = hasLabels && ambiguity.truth[image] >= 0;
        if (hasLabels)
            judged.isWrong.push_back(ambiguity.predicted[image] != ambiguity.truth[image]);
    }
    if (!hasLabels)
        judged.isWrong.clear();
    return judged.score.size() < 10 ? std::nullopt : std::optional(std::move(judged));
}

Plot rankPlot(const Judged& judged, const std::vector<double>& against, const std::string& name)
{
    Plot plot;
    plot.title = "Score against " + name;
    plot.note = fmt::format("ranks of {} images · ρ = {:.3f}", judged.score.size(),
                            spearman(judged.score, against).value);
    plot.x.title = "rank of the " + name;
    plot.y.title = "rank of the score";
    plot.width = 470;
    plot.height = 430;
    constexpr std::size_t kFew = 300; // ranks fill the square evenly
    addImages(plot, averageRanks(against), averageRanks(judged.score), kFew);
    return plot;
}

double rateAt(const RocCurve& curve, double falsePositive)
{
    double best = 0;
    for (std::size_t i = 0; i < curve.falsePositive.size(); ++i) {
        if (curve.falsePositive[i] > falsePositive)
            break;
        best = curve.truePositive[i];
    }
    return best;
}

Plot rocPlot(const Judged& judged, const std::vector<char>& positives, const std::string& title,
             int resamples)
{
    constexpr int kGrid = 50;
    Plot plot;
    plot.title = title;
    plot.x = {.title = "false positive rate", .low = 0, .high = 1};
    plot.y = {.title = "true positive rate", .low = 0, .high = 1};
    plot.width = 320;
    plot.height = 330;
    plot.curves.push_back({{0, 1}, {0, 1}, "muted", "chance", 1.2, true});
    const RocCurve whole = rocCurve(judged.score, positives);
    // The band: quantiles of the rate at fixed places over resampled images.
    std::vector<std::vector<double>> rates(kGrid + 1);
    const auto sample = [&](std::span<const std::size_t> chosen) {
        std::vector<double> scores;
        std::vector<char> marks;
        for (const std::size_t i : chosen) {
            scores.push_back(judged.score[i]);
            marks.push_back(positives[i]);
        }
        const Figure area = auroc(scores, marks);
        if (area.exists()) {
            const RocCurve curve = rocCurve(scores, marks);
            for (int g = 0; g <= kGrid; ++g)
                rates[static_cast<std::size_t>(g)].push_back(
                    rateAt(curve, static_cast<double>(g) / kGrid));
        }
        return area;
    };
    const Interval interval = bootstrap(judged.score.size(), sample, resamples, 0.05, 42);
    Plot::Band band{.colour = "series 0", .label = "95 % of resamples"};
    for (int g = 0; g <= kGrid; ++g) {
        const auto& column = rates[static_cast<std::size_t>(g)];
        if (column.empty())
            continue;
        band.x.push_back(static_cast<double>(g) / kGrid);
        band.low.push_back(quantile(column, 0.025));
        band.high.push_back(quantile(column, 0.975));
    }
    if (!band.x.empty())
        plot.bands.push_back(std::move(band));
    plot.curves.push_back({.x = whole.falsePositive, .y = whole.truePositive, .label = "score"});
    plot.note = fmt::format("AUROC {} [{}, {}]", shortNumber(auroc(judged.score, positives).value),
                            shortNumber(interval.low.value), shortNumber(interval.high.value));
    return plot;
}

std::vector<char> isAtMost(const std::vector<double>& values, double threshold)
{
    std::vector<char> result;
    for (const double value : values)
        result.push_back(value <= threshold);
    return result;
}

std::vector<double> negated(std::vector<double> values)
{
    for (double& value : values)
        value = -value;
    return values;
}

} // namespace

std::optional<Chart> ambiguityChart(const StudyState& state, const Look& look)
{
    const auto of = judged(state, look);
    if (!of)
        return std::nullopt;
    return chartOf("ambiguity", "Does the score know ambiguity? – " + modelName(state, look.model),
                   "Ranks of the dropout score against the zero-shot margin (negated: ambiguous "
                   "on the right) and the entropy of the same image without dropout.",
                   {rankPlot(*of, negated(of->margin), "negative margin"),
                    rankPlot(*of, of->entropy, "entropy")});
}

std::optional<Chart> rocChart(const StudyState& state, const Look& look, int resamples)
{
    const auto of = judged(state, look);
    if (!of)
        return std::nullopt;
    std::vector<Plot> panels{
        rocPlot(*of, isAtMost(of->margin, quantile(of->margin, 0.1)), "Low margin", resamples),
        rocPlot(*of, isAtMost(negated(of->entropy), -quantile(of->entropy, 0.9)), "High entropy",
                resamples)};
    if (std::ranges::any_of(of->isWrong, [](char wrong) { return wrong != 0; }))
        panels.push_back(rocPlot(*of, of->isWrong, "Wrong prediction", resamples));
    return chartOf("roc", "Finding ambiguous images by the score – " + modelName(state, look.model),
                   "Positives are the tenth of the images with the lowest margin and with the "
                   "highest entropy, and the errors where labels exist.",
                   panels, panels.size());
}

std::optional<Chart> accuracyChart(const StudyState& state, const Look& look)
{
    const auto of = judged(state, look);
    if (!of || of->isWrong.empty())
        return std::nullopt;
    const auto order = byScore(negated(of->score)); // smallest score first
    constexpr std::size_t kParts = 10;
    Plot plot;
    plot.title = "Accuracy by decile of the score";
    plot.x = {.title = "decile of the score, smallest first", .low = 0.4, .high = 10.6};
    plot.y = {.title = "zero-shot accuracy", .low = 0, .high = 1.02};
    Plot::Marks marks{.label = "accuracy, 95 % (Wilson)", .radius = 5};
    double right = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
        const std::size_t from = part * order.size() / kParts,
                          to = (part + 1) * order.size() / kParts;
        double good = 0;
        for (std::size_t i = from; i < to; ++i)
            good += of->isWrong[order[i]] ? 0 : 1;
        right += good;
        const auto n = static_cast<double>(to - from);
        if (n == 0)
            continue;
        constexpr double kZ = 1.959964;
        const double share = good / n, scale = 1 + kZ * kZ / n,
                     middle = (share + kZ * kZ / (2 * n)) / scale,
                     half = kZ / scale * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
        marks.x.push_back(static_cast<double>(part + 1));
        marks.y.push_back(share);
        marks.low.push_back(middle - half);
        marks.high.push_back(middle + half);
        plot.x.ticks.emplace_back(static_cast<double>(part + 1), std::to_string(part + 1));
    }
    plot.marks.push_back(std::move(marks));
    plot.references = {{.at = right / static_cast<double>(order.size()), .label = "all images"}};
    plot.note = modelName(state, look.model) + " · " + metricName(look.metric);
    return chartOf("accuracy", plot.title,
                   "Where the score means anything, accuracy falls from left to right.", {plot});
}

std::optional<Chart> setSizeChart(const StudyState& state, const Look& look)
{
    const auto of = judged(state, look);
    if (!of || of->isWrong.empty() || of->score.size() < 40)
        return std::nullopt;
    const Ambiguity& ambiguity = *state.models[look.model].ambiguity;
    std::vector<std::vector<double>> probabilities;
    std::vector<std::size_t> labels;
    for (const std::size_t image : of->images) {
        probabilities.push_back(
            softmax(std::span(ambiguity.logits.values)
                        .subspan(image * ambiguity.logits.columns, ambiguity.logits.columns)));
        labels.push_back(static_cast<std::size_t>(ambiguity.truth[image]));
    }
    Plot plot;
    plot.title = "Conformal sets by quartile of the score";
    plot.x = {.title = "quartile of the score, smallest first",
              .low = 0.4,
              .high = 4.6,
              .ticks = {{1, "1"}, {2, "2"}, {3, "3"}, {4, "4"}}};
    plot.y = {.title = "classes in the set, mean", .low = 0};
    int series = 0;
    for (const double level : {0.8, 0.9, 0.95}) {
        const Coverage coverage =
            conformalCoverage(probabilities, labels, of->score, level, 20, state.seed);
        Plot::Marks marks{
            .colour = fmt::format("series {}", series++),
            .label = fmt::format("{:.0f} %: covers {:.1f} %", 100 * level, 100 * coverage.coverage),
            .radius = 5};
        for (std::size_t q = 0; q < coverage.sizeByQuartile.size(); ++q) {
            marks.x.push_back(static_cast<double>(q + 1));
            marks.y.push_back(coverage.sizeByQuartile[q]);
        }
        plot.marks.push_back(std::move(marks));
    }
    plot.note = modelName(state, look.model) + " · 20 random halves";
    return chartOf("sets", plot.title,
                   "Size of split conformal sets of the zero-shot classifier; larger sets for "
                   "uncertain images are what a useful score predicts.",
                   {plot});
}

std::optional<Chart> pairedChart(const StudyState& state, const Look& look)
{
    const auto clean = scoresOf(state, {look.model, look.pass, "trace_pre"});
    if (!clean || state.models[look.model].degraded.empty())
        return std::nullopt;
    const ModelStudy& model = state.models[look.model];
    const std::vector<double> before = meansOverTrials(*clean);
    std::vector<Plot> panels;
    for (const DegradedScores& degraded : model.degraded) {
        if (look.pass >= degraded.trace.size())
            continue;
        const Matrix& trace = degraded.trace[look.pass];
        std::vector<double> kept, worse, change;
        for (std::size_t i = 0; i < before.size(); ++i) {
            const std::size_t image = clean->images[i];
            double after = 0;
            for (std::size_t k = 0; k < trace.rows && image < trace.columns; ++k)
                after += trace(k, image) / static_cast<double>(trace.rows);
            if (trace.rows == 0 || image >= trace.columns || !std::isfinite(after))
                continue;
            kept.push_back(before[i]);
            worse.push_back(after);
            change.push_back(after - before[i]);
        }
        if (change.empty())
            continue;
        const double above =
            static_cast<double>(std::ranges::count_if(change, [](double by) { return by > 0; })) /
            static_cast<double>(change.size());
        Plot plot;
        plot.title = degraded.degradation;
        const auto known = publishedDegradation(model.tower.key, degraded.degradation);
        plot.note = fmt::format("{:.1f} % above{} · Wilcoxon p = {} · gate 75 %", 100 * above,
                                known ? fmt::format(" (published {:.1f} %)", 100 * *known) : "",
                                shortNumber(wilcoxonGreater(change).p.value, 2));
        plot.x.title = "clean";
        plot.y.title = "degraded";
        plot.width = 470;
        plot.height = 380;
        plot.hasEqualScales = true;
        const auto [low, high] = std::ranges::minmax(kept);
        plot.curves.push_back({{low, high}, {low, high}, "muted", "equal", 1.4, true});
        addImages(plot, std::move(kept), std::move(worse));
        panels.push_back(std::move(plot));
    }
    if (panels.empty())
        return std::nullopt;
    return chartOf("paired",
                   fmt::format("Clean against degraded – {}, T = {}", modelName(state, look.model),
                               model.passes[look.pass]),
                   "The same images under the same masks; above the line the score rose with the "
                   "degradation, as a measure of uncertainty should.",
                   panels, std::min<std::size_t>(panels.size(), 2));
}

} // namespace vergence::mc_embedding
