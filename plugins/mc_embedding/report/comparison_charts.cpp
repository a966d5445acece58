#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/charts.h"
#include "plugins/mc_embedding/report/published.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

/// Trial means of the images that both looks know.
struct Pairs {
    std::vector<double> a, b;
    std::vector<std::size_t> images;
};

Pairs pairsOf(const Scores& a, const Scores& b)
{
    const std::vector<double> meansA = meansOverTrials(a), meansB = meansOverTrials(b);
    Pairs pairs;
    for (std::size_t i = 0, j = 0; i < a.images.size() && j < b.images.size();) {
        if (a.images[i] == b.images[j]) {
            pairs.a.push_back(meansA[i]);
            pairs.b.push_back(meansB[j]);
            pairs.images.push_back(a.images[i]);
            ++i, ++j;
        } else {
            a.images[i] < b.images[j] ? ++i : ++j;
        }
    }
    return pairs;
}

/// The largest T of every model.
Look largest(const StudyState& state, std::size_t model, const std::string& metric)
{
    const std::size_t count = state.models[model].passes.size();
    return {model, count > 0 ? count - 1 : 0, metric};
}

bool isPreset(const std::string& placement, std::initializer_list<const char*> names)
{
    return std::ranges::any_of(names, [&](const char* name) { return placement == name; });
}

PlotTable::Cell beside(const std::string& ours, double published, int digits,
                       const std::string& reason)
{
    PlotTable::Cell cell{ours};
    if (published == 0)
        return cell;
    cell.grey = shortNumber(published, digits);
    const double own = std::atof(ours.c_str());
    if (ours != "–" && own != 0 && std::abs(own - published) > 0.05 * std::abs(published)) {
        cell.grey = fmt::format("{} ({:+.2g})", cell.grey, own - published);
        if (!reason.empty())
            cell.grey += " †";
    }
    return cell;
}

Figure aurocOf(const ModelStudy& model, const Scores& scores)
{
    const Ambiguity& ambiguity = *model.ambiguity;
    const std::vector<double> means = meansOverTrials(scores);
    std::vector<double> entropies, known;
    for (std::size_t i = 0; i < means.size(); ++i) {
        const std::size_t image = scores.images[i];
        if (image >= ambiguity.entropy.size() || !std::isfinite(ambiguity.entropy[image]))
            continue;
        entropies.push_back(ambiguity.entropy[image]);
        known.push_back(means[i]);
    }
    if (entropies.empty())
        return Figure::none("no image was judged");
    const double threshold = quantile(entropies, 0.9);
    std::vector<char> isHigh;
    for (const double entropy : entropies)
        isHigh.push_back(entropy >= threshold);
    return auroc(known, isHigh);
}

} // namespace

std::string deviationReason(const ModelStudy& model)
{
    const auto published = publishedModel(model.tower.key);
    if (!published)
        return {};
    const bool isReproduction = isPreset(model.placement, {"mlp_only", "siglip_transformers"});
    return isReproduction ? "" : published->reliabilityReason;
}

std::optional<Chart> preAgainstPostChart(const StudyState& state, const Look& look)
{
    const auto pre = scoresOf(state, {look.model, look.pass, "trace_pre"}),
               post = scoresOf(state, {look.model, look.pass, "trace_post"});
    if (!pre || !post)
        return std::nullopt;
    const Pairs pairs = pairsOf(*pre, *post);
    Plot plot;
    plot.title = "Trace before and after normalisation";
    plot.note =
        fmt::format("{} · T = {} · Spearman ρ = {:.3f}", modelName(state, look.model),
                    state.models[look.model].passes[look.pass], spearman(pairs.a, pairs.b).value);
    plot.x.title = "trace, pre-norm";
    plot.y.title = "trace, post-norm";
    plot.width = 540;
    plot.height = 480;
    addImages(plot, pairs.a, pairs.b);
    return chartOf("pre_post", plot.title, "Mean over trials of every image.", {plot});
}

std::optional<Chart> crossModelChart(const StudyState& state, const Look& look)
{
    const std::size_t models = state.models.size();
    if (models < 2)
        return std::nullopt;
    std::vector<std::optional<Scores>> scores;
    std::vector<Reliability> cells;
    std::vector<std::string> names;
    for (std::size_t m = 0; m < models; ++m) {
        scores.push_back(scoresOf(state, largest(state, m, look.metric)));
        cells.push_back(scores.back() ? reliability(*scores.back(), state.models[m].passes.back())
                                      : Reliability());
        names.push_back(modelName(state, m));
    }
    PlotCells raw;
    raw.rows = raw.columns = models;
    raw.rowNames = raw.columnNames = names;
    raw.low = -0.2;
    PlotCells clean = raw;
    std::string published;
    for (std::size_t a = 0; a < models; ++a) {
        for (std::size_t b = 0; b < models; ++b) {
            Figure rho = a == b ? Figure(1) : Figure();
            if (a != b && scores[a] && scores[b]) {
                const Pairs pairs = pairsOf(*scores[a], *scores[b]);
                rho = spearman(pairs.a, pairs.b);
            }
            raw.values.push_back(rho.value);
            clean.values.push_back(a == b || !rho.exists()
                                       ? rho.value
                                       : disattenuated(rho.value, cells[a], cells[b]).value);
            const auto known =
                publishedCrossModel(state.models[a].tower.key, state.models[b].tower.key);
            if (known && a < b)
                published += fmt::format("{}{}–{} {:.2f}", published.empty() ? "published: " : ", ",
                                         names[a], names[b], *known);
        }
    }
    std::vector<Plot> panels(2);
    panels[0].title = "Spearman ρ of the mean scores";
    panels[0].note = published;
    panels[1].title = "Without the noise of both sides";
    panels[1].note = "divided by √(ICC(1,k) · ICC(1,k)); above 1 by chance where noise is large";
    panels[0].cells = std::move(raw);
    panels[1].cells = std::move(clean);
    for (Plot& panel : panels) {
        panel.width = 490;
        panel.height = 440;
    }
    return chartOf("cross_model", "Do models agree? – " + metricName(look.metric),
                   "Rank correlation between models of the score averaged over trials, raw and "
                   "corrected for attenuation.",
                   panels);
}

std::optional<Chart> rankRankChart(const StudyState& state, const Look& look, std::size_t other)
{
    if (other >= state.models.size() || other == look.model)
        return std::nullopt;
    const auto a = scoresOf(state, look), b = scoresOf(state, largest(state, other, look.metric));
    if (!a || !b)
        return std::nullopt;
    const Pairs pairs = pairsOf(*a, *b);
    Plot plot;
    plot.title = "Rank against rank";
    plot.note = fmt::format("{} · {} images · ρ = {:.3f}", metricName(look.metric), pairs.a.size(),
                            spearman(pairs.a, pairs.b).value);
    plot.x.title = "rank in " + modelName(state, look.model);
    plot.y.title = "rank in " + modelName(state, other);
    plot.width = 540;
    plot.height = 500;
    constexpr std::size_t kFew = 300; // ranks fill the square evenly
    addImages(plot, averageRanks(pairs.a), averageRanks(pairs.b), kFew);
    return chartOf("ranks", plot.title,
                   "Images of rank 1 have the smallest score of a model; off the diagonal the "
                   "models disagree.",
                   {plot});
}

std::optional<Chart> siteProfileChart(const StudyState& state, const Look& look)
{
    // Runs with a single live site each: their mean trace is the share of that site.
    std::map<int, std::map<int, double>> shares; // block → code → mean trace
    if (look.model >= state.models.size())
        return std::nullopt;
    const TowerShape& tower = state.models[look.model].tower;
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        const ModelStudy& model = state.models[m];
        const auto scores = scoresOf(state, largest(state, m, "trace_pre"));
        if (model.sites.size() != 1 || model.tower.key != tower.key || !scores)
            continue;
        const int number = model.sites.front().number;
        double sum = 0;
        for (const double value : scores->values)
            sum += value / static_cast<double>(scores->values.size());
        shares[number / 16][number % 16] = sum;
    }
    if (shares.empty())
        return std::nullopt;
    static const std::vector<std::string> kCodes{"q", "k", "v", "out", "fc1", "fc2"};
    Plot plot;
    plot.title = "Where the spread comes from";
    plot.note = tower.key + " · mean trace of runs with one live site, divided by the largest";
    plot.x.title = "site";
    plot.y.title = "block";
    PlotCells cells;
    cells.columns = kCodes.size();
    cells.columnNames = kCodes;
    double most = 0;
    for (const auto& [block, codes] : shares)
        for (const auto& [code, value] : codes)
            most = std::max(most, value);
    for (const auto& [block, codes] : shares) {
        cells.rowNames.push_back(block == tower.layers ? "head" : std::to_string(block));
        for (std::size_t code = 0; code < kCodes.size(); ++code) {
            const auto found = codes.find(static_cast<int>(code));
            cells.values.push_back(found == codes.end() ? NAN : found->second / most);
        }
    }
    cells.rows = shares.size();
    plot.cells = std::move(cells);
    plot.height = 200 + 40 * static_cast<double>(shares.size());
    return chartOf("sites", plot.title, "Trace contributed by every site alone.", {plot});
}

std::vector<std::vector<PlotTable::Cell>> comparisonRows(const StudyState& state)
{
    std::vector<std::vector<PlotTable::Cell>> rows{{{"model"},
                                                    {"trace"},
                                                    {"ρ"},
                                                    {"SNR"},
                                                    {"ICC"},
                                                    {"T for 0.75"},
                                                    {"AUROC"},
                                                    {"ms / pass"},
                                                    {"status"}}};
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        const ModelStudy& model = state.models[m];
        const auto scores = scoresOf(state, largest(state, m, "trace_pre"));
        if (!scores)
            continue;
        const int passes = model.passes.back();
        const Reliability cell = reliability(*scores, passes, model.alpha);
        const auto row = publishedReliability(model.tower.key, passes, false);
        const auto known = publishedModel(model.tower.key);
        const std::string reason = deviationReason(model);
        const double count = static_cast<double>(model.imagesDone) * passes * model.trials;
        const std::string colour = cell.status == "usable"   ? "series 2"
                                   : cell.status == "failed" ? "warning"
                                                             : "text";
        rows.push_back(
            {{modelName(state, m),
              fmt::format("T = {}, p = {:g}, {}", passes, model.p, model.placement)},
             beside(shortNumber(cell.mean.value), known ? known->trace : 0, 3, reason),
             beside(shortNumber(cell.spearmanMedian.value), row ? row->spearman : 0, 3, reason),
             beside(shortNumber(cell.snr.value), row ? row->snr : 0, 3, reason),
             beside(shortNumber(cell.icc.value), row ? row->icc : 0, 3, reason),
             beside(shortNumber(passesForIcc(cell, kIccGate).value, 3),
                    known ? known->passesFor75 : 0, 3, reason),
             model.ambiguity ? beside(shortNumber(aurocOf(model, *scores).value),
                                      known ? known->aurocHighEntropy : 0, 3,
                                      known ? known->ambiguityReason : "")
                             : PlotTable::Cell{"–"},
             {count > 0 ? shortNumber(1000 * model.seconds / count) : "–"},
             {cell.status, cell.certain ? "certain" : "", colour}});
    }
    return rows;
}

std::optional<Chart> comparisonChart(const StudyState& state, const Look&)
{
    PlotTable table;
    table.title = "Models beside each other";
    table.note = "pre-norm trace at the largest T; grey: published, with the difference where it "
                 "is above 5 %; †: a known defect of the original explains it";
    table.rows = comparisonRows(state);
    if (table.rows.size() < 2)
        return std::nullopt;
    table.width = 960;
    Chart chart{"comparison", table.title,
                "All models at their largest T with the published values in grey.", layOut(table),
                ""};
    for (const auto& row : table.rows) {
        std::string line;
        for (const PlotTable::Cell& cell : row)
            line += (line.empty() ? "" : ",") + ("\"" + cell.text + "\",\"" + cell.grey + "\"");
        chart.csv += line + "\n";
    }
    return chart;
}

} // namespace vergence::mc_embedding
