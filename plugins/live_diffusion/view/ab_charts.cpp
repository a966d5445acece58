#include "plugins/live_diffusion/view/ab_charts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

Diagram abWaterfall(std::span<const AbRow> rows, double width, double height)
{
    plot::Plot chart;
    chart.title = "From the baseline to everything on";
    chart.note = "Median ms per frame; whiskers: 95 % intervals.";
    chart.width = width;
    chart.height = height;
    plot::Plot::Marks medians{{}, {}, "text", "", "diamond", 3.5};
    double before = NAN, most = 0;
    std::vector<std::string> names;
    for (const AbRow& row : rows) {
        const bool isBaseline = row.part == AbPart::Baseline;
        if (!isBaseline && row.part != AbPart::Cumulative)
            continue;
        names.push_back(row.technique);
        const double at = static_cast<double>(names.size());
        if (!std::isfinite(row.ms)) {
            chart.notes.push_back({at, 0, "not measured", "muted"});
            continue;
        }
        const bool isFirst = isBaseline || !std::isfinite(before);
        const double from = isFirst ? 0 : before;
        const double delta = row.ms - from;
        chart.bars.push_back({at - 0.36, at + 0.36, std::min(from, row.ms), std::max(from, row.ms),
                              isFirst      ? "muted"
                              : delta <= 0 ? "series 2"
                                           : "series 1",
                              fmt::format("{}: {} ms", row.technique, plot::shortNumber(row.ms)),
                              isFirst ? 0.5 : 0.8});
        if (!isFirst)
            chart.curves.push_back({{at - 1.36, at + 0.36}, {from, from}, "muted", "", 1, true});
        const bool hasInterval = std::isfinite(row.low) && std::isfinite(row.high);
        medians.x.push_back(at);
        medians.y.push_back(row.ms);
        medians.low.push_back(hasInterval ? row.low : row.ms);
        medians.high.push_back(hasInterval ? row.high : row.ms);
        const double top = std::max({from, row.ms, medians.high.back()});
        most = std::max(most, top);
        chart.notes.push_back({at, top,
                               isFirst ? plot::shortNumber(row.ms)
                                       : fmt::format("{}{}", delta <= 0 ? "−" : "+",
                                                     plot::shortNumber(std::abs(delta), 2)),
                               "text", true});
        before = row.ms;
    }
    if (medians.x.empty())
        return emptyChart(chart.title, "Not measured yet.", width, height);
    if (medians.x.size() > 1) {
        names.push_back("all");
        const double at = static_cast<double>(names.size());
        chart.bars.push_back({at - 0.36, at + 0.36, 0, before, "accent",
                              fmt::format("all: {} ms", plot::shortNumber(before)), 0.8});
        chart.curves.push_back({{at - 1.36, at + 0.36}, {before, before}, "muted", "", 1, true});
        chart.notes.push_back({at, before,
                               fmt::format("{} ({}×)", plot::shortNumber(before),
                                           plot::shortNumber(medians.y.front() / before)),
                               "text", true});
    }
    for (plot::Plot::Note& note : chart.notes)
        note.y += 0.045 * most; // above its bar
    for (std::size_t i = 0; i < names.size(); ++i)
        chart.x.ticks.emplace_back(static_cast<double>(i) + 1, names[i]);
    chart.x.low = 0.4;
    chart.x.high = static_cast<double>(names.size()) + 0.6;
    chart.y = {"ms per frame", false, 0.0, 1.12 * most, {}};
    chart.marks.push_back(std::move(medians));
    chart.keys = {{"saves time", "series 2"}, {"costs time", "series 1"}};
    return layOut(chart);
}

} // namespace vergence::live
