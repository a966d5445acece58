#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/charts.h"
#include "plugins/mc_embedding/report/published.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

/// "clip_b32, trace, pre-norm, T = 64"
std::string subject(const StudyState& state, const Look& look, bool withPasses = true)
{
    const ModelStudy& model = state.models[look.model];
    std::string text =
        fmt::format("{} · {}", modelName(state, look.model), metricName(look.metric));
    if (withPasses && look.pass < model.passes.size())
        text += fmt::format(" · T = {}", model.passes[look.pass]);
    return text;
}

std::string extents(const Matrix& scores)
{
    return fmt::format("{} images, K = {}", scores.columns, scores.rows);
}

bool isPostNorm(const std::string& metric)
{
    return metric == "trace_post";
}

bool isPublishedMetric(const std::string& metric)
{
    return metric == "trace_pre" || metric == "trace_post";
}

/// Ticks at the T list, and at doublings beyond it up to `last`.
std::vector<std::pair<double, std::string>> passTicks(const std::vector<int>& passes, double last)
{
    std::vector<std::pair<double, std::string>> ticks;
    for (const int t : passes)
        ticks.emplace_back(t, std::to_string(t));
    for (double t = passes.back() * 4.0; t <= last; t *= 4)
        ticks.emplace_back(t, fmt::format("{:g}", t));
    return ticks;
}

Plot::Bar barOf(const std::vector<double>& values, double low, double high, int bin, int bins)
{
    const double width = (high - low) / bins;
    const double left = low + bin * width, right = left + width;
    const auto count = std::ranges::count_if(values, [&](double v) {
        return v >= left && (v < right || (bin == bins - 1 && v <= high));
    });
    return {.left = left,
            .right = right,
            .bottom = 0,
            .top = static_cast<double>(count),
            .tip = fmt::format("{} images", count)};
}

/// Relative standard error of one trial against T, with the 1/√T line through the largest T.
Plot errorPlot(const StudyState& state, const Look& look, const std::vector<Reliability>& cells)
{
    const ModelStudy& model = state.models[look.model];
    Plot plot;
    plot.title = "Relative standard error of a trial";
    plot.note = "√noise / mean; both axes logarithmic";
    plot.x = {.title = "passes T", .isLog = true, .ticks = passTicks(model.passes, 0)};
    plot.y = {.title = "standard error / mean", .isLog = true};
    plot.width = 470;
    plot.height = 400;
    Plot::Marks marks{.label = "measured", .radius = 5};
    for (std::size_t t = 0; t < cells.size(); ++t) {
        const double error = std::sqrt(cells[t].noise.value) / std::abs(cells[t].mean.value);
        marks.x.push_back(model.passes[t]);
        marks.y.push_back(error);
    }
    Plot::Curve law{.colour = "muted", .label = "1/√T through the largest T", .isDashed = true};
    for (double t = model.passes.front() / 1.3; t <= model.passes.back() * 1.3; t *= 1.1) {
        law.x.push_back(t);
        law.y.push_back(marks.y.back() * std::sqrt(marks.x.back() / t));
    }
    plot.curves.push_back(std::move(law));
    plot.marks.push_back(std::move(marks));
    return plot;
}

void addPublishedScaling(Plot& plot, const StudyState& state, const Look& look)
{
    const ModelStudy& model = state.models[look.model];
    if (!isPublishedMetric(look.metric))
        return;
    Plot::Marks icc{.colour = "muted", .label = "ICC published", .mark = "ring", .radius = 7};
    Plot::Marks rho{.colour = "muted", .label = "ρ published", .mark = "cross", .radius = 5};
    for (const PublishedReliability& row : publishedReliability()) {
        if (row.model != model.tower.key || row.isPost != isPostNorm(look.metric))
            continue;
        icc.x.push_back(row.passes), icc.y.push_back(row.icc);
        rho.x.push_back(row.passes), rho.y.push_back(row.spearman);
    }
    if (icc.x.empty())
        return;
    plot.marks.push_back(std::move(icc));
    plot.marks.push_back(std::move(rho));
}

/// The lower end of an axis of reliabilities: 0, and less where one of them is.
double lowestOf(const std::vector<Reliability>& cells)
{
    double low = 0;
    for (const Reliability& cell : cells)
        low = std::min({low, cell.icc.value, cell.spearmanMedian.value});
    return low < 0 ? low - 0.03 : 0;
}

/// ICC and ρ against T with the Spearman–Brown curve from the largest T.
Plot iccPlot(const StudyState& state, const Look& look, const std::vector<Reliability>& cells)
{
    const ModelStudy& model = state.models[look.model];
    const Figure needed = passesForIcc(cells.back(), kIccGate);
    const double last = std::clamp(needed.exists() ? needed.value * 1.5 : 0.0,
                                   model.passes.back() * 4.0, model.passes.back() * 64.0);
    Plot plot;
    plot.title = "Reliability against T";
    plot.note = "bars: 95 % interval of ICC(1,1), quartiles of the pairwise ρ";
    plot.x = {.title = "passes T", .isLog = true, .ticks = passTicks(model.passes, last)};
    const double low = lowestOf(cells);
    plot.y = {.title = "ICC(1,1), median ρ", .low = low, .high = 1.03};
    plot.width = 470;
    plot.height = 400;
    Plot::Marks icc{.label = "ICC(1,1)", .radius = 5};
    Plot::Marks rho{.colour = "series 1", .label = "ρ, median", .mark = "diamond", .radius = 6};
    for (std::size_t t = 0; t < cells.size(); ++t) {
        icc.x.push_back(model.passes[t]), icc.y.push_back(cells[t].icc.value);
        icc.low.push_back(std::max(low, cells[t].iccLow.value));
        icc.high.push_back(cells[t].iccHigh.value);
        rho.x.push_back(model.passes[t]), rho.y.push_back(cells[t].spearmanMedian.value);
        rho.low.push_back(std::max(low, cells[t].spearmanQ25.value));
        rho.high.push_back(cells[t].spearmanQ75.value);
    }
    if (cells.back().icc.exists()) {
        Plot::Curve curve{.label = fmt::format("Spearman–Brown from T = {}", model.passes.back()),
                          .isDashed = true};
        for (double t = model.passes.front() / 1.3; t <= last; t *= 1.08) {
            curve.x.push_back(t);
            curve.y.push_back(predictedIcc(cells.back().icc.value, model.passes.back(), t));
        }
        plot.curves.push_back(std::move(curve));
    }
    plot.marks = {std::move(icc), std::move(rho)};
    addPublishedScaling(plot, state, look);
    plot.references = {{.at = kIccGate, .label = "ICC gate 0.75"},
                       {.at = kSpearmanGate, .label = "ρ gate 0.80"}};
    if (needed.exists())
        plot.references.push_back({.at = needed.value,
                                   .isVertical = true,
                                   .label = fmt::format("T for 0.75: {:.0f}", needed.value),
                                   .colour = "accent"});
    return plot;
}

} // namespace

std::optional<Chart> spearmanChart(const StudyState& state, const Look& look)
{
    const auto scores = scoresOf(state, look);
    if (!scores || scores->rows < 2)
        return std::nullopt;
    const std::size_t trials = scores->rows, images = scores->columns;
    const Reliability cell = reliability(*scores, state.models[look.model].passes[look.pass]);
    Plot plot;
    plot.title = "Spearman ρ between trials";
    plot.note = fmt::format("{} · {} · median {:.3f}, IQR {:.3f} · {}", subject(state, look),
                            extents(*scores), cell.spearmanMedian.value,
                            cell.spearmanQ75.value - cell.spearmanQ25.value, cell.status);
    plot.x.title = plot.y.title = "trial";
    plot.width = 540;
    plot.height = 540;
    PlotCells cells;
    cells.rows = cells.columns = trials;
    const auto row = [&](std::size_t k) {
        return std::span(scores->values).subspan(k * images, images);
    };
    for (std::size_t a = 0; a < trials; ++a) {
        cells.rowNames.push_back(std::to_string(a + 1));
        for (std::size_t b = 0; b < trials; ++b)
            cells.values.push_back(a == b ? 1 : spearman(row(a), row(b)).value);
    }
    cells.columnNames = cells.rowNames;
    plot.cells = std::move(cells);
    return chartOf("spearman", plot.title,
                   "Rank correlation of the scores of every pair of trials; 1 on the diagonal.",
                   {plot});
}

std::optional<Chart> gatesChart(const StudyState& state, const Look& look)
{
    std::vector<Plot> panels(2);
    const bool isPost = isPostNorm(look.metric);
    std::vector<std::pair<double, std::string>> names;
    panels[0].title = "ICC(1,1) with its 95 % interval";
    panels[1].title = "Signal to noise";
    std::vector<Plot::Marks> published(2);
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        const ModelStudy& model = state.models[m];
        const std::string colour = fmt::format("series {}", m);
        Plot::Marks icc{.colour = colour, .label = modelName(state, m), .radius = 5};
        Plot::Marks snr = icc;
        for (std::size_t t = 0; t < model.passes.size(); ++t) {
            const auto scores = scoresOf(state, {m, t, look.metric});
            if (!scores)
                continue;
            const Reliability cell = reliability(*scores, model.passes[t]);
            const auto at = static_cast<double>(names.size());
            names.emplace_back(at, fmt::format("{}", model.passes[t]));
            icc.x.push_back(at), icc.y.push_back(cell.icc.value);
            icc.low.push_back(std::max(-0.05, cell.iccLow.value));
            icc.high.push_back(cell.iccHigh.value);
            snr.x.push_back(at), snr.y.push_back(cell.snr.value);
            if (const auto row = publishedReliability(model.tower.key, model.passes[t], isPost);
                row && isPublishedMetric(look.metric)) {
                published[0].x.push_back(at), published[0].y.push_back(row->icc);
                published[1].x.push_back(at), published[1].y.push_back(row->snr);
            }
        }
        panels[0].marks.push_back(std::move(icc));
        panels[1].marks.push_back(std::move(snr));
    }
    if (names.empty())
        return std::nullopt;
    for (std::size_t p = 0; p < 2; ++p) {
        panels[p].x = {.title = "passes T, model by model",
                       .low = -0.6,
                       .high = static_cast<double>(names.size()) - 0.4,
                       .ticks = names};
        panels[p].width = 470;
        panels[p].height = 390;
        published[p].colour = "muted";
        published[p].label = "published";
        published[p].mark = "ring";
        published[p].radius = 7;
        if (!published[p].x.empty())
            panels[p].marks.push_back(published[p]);
    }
    panels[0].y = {.title = "ICC(1,1)", .low = -0.06, .high = 1.03};
    panels[0].references = {{.at = kIccGate, .label = "gate 0.75"}};
    panels[1].y = {.title = "SNR", .isLog = true};
    panels[1].references = {{.at = kSnrGate, .label = "gate 2"},
                            {.at = kSnrFailed, .label = "failed below 1"}};
    return chartOf("gates", "Reliability and its gates – " + metricName(look.metric),
                   std::string("Intraclass correlation of single trials and signal-to-noise ratio "
                               "of all models") +
                       (published[0].x.empty() ? "." : "; rings are the published values."),
                   panels);
}

std::optional<Chart> scalingChart(const StudyState& state, const Look& look)
{
    std::vector<Reliability> cells;
    if (look.model < state.models.size())
        for (std::size_t t = 0; t < state.models[look.model].passes.size(); ++t)
            if (const auto scores = scoresOf(state, {look.model, t, look.metric}))
                cells.push_back(reliability(*scores, state.models[look.model].passes[t]));
    if (cells.empty() || cells.size() != state.models[look.model].passes.size() ||
        cells.back().trials < 2)
        return std::nullopt;
    return chartOf("scaling", "More passes – " + subject(state, look, false),
                   "The noise of a trial falls as 1/√T, reliability grows by the Spearman–Brown "
                   "law; where its curve crosses the gate, T is sufficient.",
                   {errorPlot(state, look, cells), iccPlot(state, look, cells)});
}

std::optional<Chart> histogramChart(const StudyState& state, const Look& look)
{
    if (look.model >= state.models.size())
        return std::nullopt;
    const ModelStudy& model = state.models[look.model];
    constexpr int kBins = 28;
    std::vector<Plot> panels;
    for (const char* metric : {"trace_pre", "trace_post"}) {
        std::vector<std::vector<double>> perPass;
        double low = INFINITY, high = -INFINITY;
        for (std::size_t t = 0; t < model.passes.size(); ++t) {
            const auto scores = scoresOf(state, {look.model, t, metric});
            perPass.push_back(scores ? meansOverTrials(*scores) : std::vector<double>());
            for (const double value : perPass.back()) {
                low = std::min(low, value);
                high = std::max(high, value);
            }
        }
        if (!(high > low))
            continue;
        for (std::size_t t = 0; t < model.passes.size(); ++t) {
            if (perPass[t].empty())
                continue;
            Plot plot;
            plot.title = fmt::format("T = {}, {}", model.passes[t],
                                     std::string(metric) == "trace_pre" ? "pre-norm" : "post-norm");
            plot.x = {.title = "score, mean over trials", .low = low, .high = high};
            plot.y = {.title = "images", .low = 0};
            plot.width = 320;
            plot.height = 260;
            for (int bin = 0; bin < kBins; ++bin)
                plot.bars.push_back(barOf(perPass[t], low, high, bin, kBins));
            plot.references = {{.at = quantile(perPass[t], 0.5),
                                .isVertical = true,
                                .label = "median",
                                .colour = "text"}};
            panels.push_back(std::move(plot));
        }
    }
    if (panels.empty())
        return std::nullopt;
    return chartOf("histograms", "Scores – " + modelName(state, look.model),
                   "Distribution of the score over images, the same axis for all T of a space.",
                   panels, model.passes.size());
}

std::optional<Chart> trialScatterChart(const StudyState& state, const Look& look)
{
    const auto scores = scoresOf(state, look);
    if (!scores || scores->rows < 2)
        return std::nullopt;
    const auto row = [&](std::size_t k) {
        return std::span(scores->values).subspan(k * scores->columns, scores->columns);
    };
    std::size_t first = 0, second = 1;
    double least = INFINITY;
    for (std::size_t a = 0; a < scores->rows; ++a)
        for (std::size_t b = a + 1; b < scores->rows; ++b)
            if (const Figure rho = spearman(row(a), row(b)); rho.exists() && rho.value < least)
                least = rho.value, first = a, second = b;
    Plot plot;
    plot.title = "The two most different trials";
    plot.note = fmt::format("{} · ρ = {:.3f}", subject(state, look), least);
    plot.x.title = fmt::format("score in trial {}", first + 1);
    plot.y.title = fmt::format("score in trial {}", second + 1);
    plot.width = 540;
    plot.height = 520;
    plot.hasEqualScales = true;
    const auto [low, high] = std::ranges::minmax(row(first));
    plot.curves.push_back({{low, high}, {low, high}, "muted", "equal scores", 1.4, true});
    addImages(plot, {row(first).begin(), row(first).end()},
              {row(second).begin(), row(second).end()});
    return chartOf("trials", plot.title,
                   "Score of every image in the pair of trials with the lowest rank correlation.",
                   {plot});
}

std::optional<Chart> classBoxChart(const StudyState& state, const Look& look)
{
    const auto scores = scoresOf(state, look);
    if (!scores)
        return std::nullopt;
    const std::vector<double> means = meansOverTrials(*scores);
    std::map<std::string, std::vector<double>> perClass;
    for (std::size_t i = 0; i < means.size(); ++i) {
        const std::string& label = state.images.images.at(scores->images[i]).label;
        if (!label.empty())
            perClass[label].push_back(means[i]);
    }
    if (perClass.size() < 2)
        return std::nullopt;
    std::vector<std::pair<double, std::string>> order; // by median, the ends where there are many
    for (const auto& [name, values] : perClass)
        order.emplace_back(quantile(values, 0.5), name);
    std::ranges::sort(order, std::greater<>());
    constexpr std::size_t kMost = 24;
    const bool isCut = order.size() > kMost;
    if (isCut)
        order.erase(order.begin() + kMost / 2, order.end() - kMost / 2);
    Plot plot;
    plot.title = "Score by class";
    plot.note =
        subject(state, look) + (isCut ? fmt::format(" · the {} highest and {} lowest of {} classes",
                                                    kMost / 2, kMost / 2, perClass.size())
                                      : "");
    plot.x.low = -0.6;
    plot.x.high = static_cast<double>(order.size()) - 0.4;
    plot.x.title = "class, by falling median";
    plot.y.title = metricName(look.metric);
    plot.width = 960;
    for (std::size_t c = 0; c < order.size(); ++c) {
        const std::vector<double>& values = perClass[order[c].second];
        plot.x.ticks.emplace_back(static_cast<double>(c), order[c].second);
        plot.boxes.push_back({.at = static_cast<double>(c),
                              .low = quantile(values, 0),
                              .q25 = quantile(values, 0.25),
                              .median = order[c].first,
                              .q75 = quantile(values, 0.75),
                              .high = quantile(values, 1),
                              .tip = order[c].second});
    }
    return chartOf("classes", plot.title,
                   "Quartiles, extremes and median of the trial means in every class.", {plot});
}

} // namespace vergence::mc_embedding
