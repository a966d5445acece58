#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/charts.h"
#include "plugins/mc_embedding/statistics/cloud.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

/// The passes of one trial of a cloud.
Matrix trialOf(const Cloud& cloud, int trial, int trials)
{
    const std::size_t passes = cloud.passes.rows / static_cast<std::size_t>(trials);
    Matrix rows(passes, cloud.passes.columns);
    const auto from =
        cloud.passes.values.begin() +
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(trial) * rows.values.size());
    std::copy_n(from, rows.values.size(), rows.values.begin());
    return rows;
}

} // namespace

std::optional<Chart> spectrumChart(const StudyState& state, const Look& look)
{
    if (look.model >= state.models.size() || state.models[look.model].clouds.empty())
        return std::nullopt;
    const ModelStudy& model = state.models[look.model];
    Plot plot;
    plot.title = "Spectrum of the cloud";
    plot.x.title = "eigenvalue number";
    plot.y = {.title = "share of the trace", .isLog = true};
    constexpr std::size_t kMost = 6;
    double nu = 0, dimensions = 0;
    for (std::size_t c = 0; c < std::min(kMost, model.clouds.size()); ++c) {
        const Cloud& cloud = model.clouds[c];
        const Matrix rows = trialOf(cloud, 0, std::max(1, model.trials));
        if (rows.rows < 2)
            continue;
        const CloudShape shape = cloudShape(rows);
        nu = static_cast<double>(rows.rows) - 1;
        dimensions = static_cast<double>(rows.columns);
        Plot::Curve curve{.colour = fmt::format("series {}", c),
                          .label = fmt::format("{} (rank {:.1f})", imageName(state, cloud.image),
                                               shape.effectiveRank)};
        for (std::size_t i = 0; i < shape.eigenvalues.size(); ++i) {
            if (shape.traceSum <= 0 || shape.eigenvalues[i] < 1e-9 * shape.traceSum)
                break;
            curve.x.push_back(static_cast<double>(i + 1));
            curve.y.push_back(shape.eigenvalues[i] / shape.traceSum);
        }
        plot.curves.push_back(std::move(curve));
    }
    if (nu < 1)
        return std::nullopt;
    // Independent dimensions of equal variance: eigenvalues between (√D ± √ν)² / (D ν) of the
    // trace. Source: Marchenko, Pastur, 1967.
    const double last = std::min(nu, dimensions);
    const auto edge = [&](double sign) {
        return std::pow(std::sqrt(dimensions) + sign * std::sqrt(nu), 2) / (dimensions * nu);
    };
    plot.bands.push_back({.x = {1, last},
                          .low = {std::max(edge(-1), 1e-6), std::max(edge(-1), 1e-6)},
                          .high = {edge(1), edge(1)},
                          .label = "null: independent dimensions of equal variance"});
    plot.note = fmt::format("{} · first trial, T = {:.0f} · effective rank in brackets",
                            modelName(state, look.model), nu + 1);
    return chartOf("spectrum", plot.title,
                   "Eigenvalues of the covariance over passes; where a curve stays in the band, "
                   "the cloud cannot be told from a ball.",
                   {plot});
}

std::optional<Chart> offdiagChart(const StudyState& state, const Look& look)
{
    if (look.model >= state.models.size())
        return std::nullopt;
    const ModelStudy& model = state.models[look.model];
    const auto dimensions = static_cast<std::size_t>(model.tower.feature);
    std::vector<Plot> panels;
    for (const auto& [metric, title] :
         {std::pair("offdiag_l1_ratio", "Off-diagonal mass, L1"),
          std::pair("offdiag_fro_ratio", "Off-diagonal mass, Frobenius")}) {
        const bool isL1 = std::string(metric) == "offdiag_l1_ratio";
        Plot plot;
        plot.title = title;
        plot.x.title = "image, by rising ratio";
        plot.y.title = "ratio";
        plot.width = 470;
        plot.height = 360;
        std::vector<double> ratios;
        std::size_t passes = 0;
        if (const auto scores = scoresOf(state, {look.model, look.pass, metric})) {
            ratios = meansOverTrials(*scores);
            passes = static_cast<std::size_t>(model.passes[look.pass]);
        } else {
            for (const Cloud& cloud : model.clouds) {
                const Matrix rows = trialOf(cloud, 0, std::max(1, model.trials));
                if (rows.rows < 2)
                    continue;
                const CloudShape shape = cloudShape(rows);
                ratios.push_back(isL1 ? shape.offdiagL1Ratio : shape.offdiagFroRatio);
                passes = rows.rows;
            }
        }
        if (ratios.empty() || passes < 2)
            continue;
        std::ranges::sort(ratios);
        Plot::Marks marks{.label = "measured", .radius = 3.5};
        for (std::size_t i = 0; i < ratios.size(); ++i) {
            marks.x.push_back(static_cast<double>(i + 1));
            marks.y.push_back(ratios[i]);
        }
        plot.marks.push_back(std::move(marks));
        const OffdiagNull null = offdiagNull(passes, dimensions);
        plot.references = {
            {.at = isL1 ? null.l1 : null.frobenius,
             .label = fmt::format("null {:.3f}, T = {}", isL1 ? null.l1 : null.frobenius, passes)}};
        panels.push_back(std::move(plot));
    }
    if (panels.empty())
        return std::nullopt;
    return chartOf("offdiag",
                   "Off-diagonal mass against its null – " + modelName(state, look.model),
                   "Sampling alone puts independent dimensions on the line; only what lies above "
                   "it speaks of correlated dimensions.",
                   panels);
}

std::optional<Chart> dimensionChart(const StudyState& state, const Look& look)
{
    if (look.model >= state.models.size())
        return std::nullopt;
    const Matrix& variances = state.models[look.model].variances;
    std::vector<double> means(variances.columns, 0);
    double known = 0;
    for (std::size_t i = 0; i < variances.rows; ++i) {
        if (variances.columns == 0 || !std::isfinite(variances(i, 0)))
            continue;
        ++known;
        for (std::size_t d = 0; d < variances.columns; ++d)
            means[d] += variances(i, d);
    }
    if (known == 0)
        return std::nullopt;
    for (double& mean : means)
        mean /= known;
    std::ranges::sort(means, std::greater<>());
    Plot plot;
    plot.title = "Variance of every dimension";
    plot.note = fmt::format("{} · mean over {:.0f} images, by falling size",
                            modelName(state, look.model), known);
    plot.x.title = "dimension";
    plot.y = {.title = "variance", .isLog = true};
    Plot::Curve curve{.y = means};
    for (std::size_t d = 0; d < means.size(); ++d)
        curve.x.push_back(static_cast<double>(d + 1));
    plot.curves.push_back(std::move(curve));
    return chartOf("dimensions", plot.title,
                   "How evenly the variance over passes is spread over the feature dimensions.",
                   {plot});
}

} // namespace vergence::mc_embedding
