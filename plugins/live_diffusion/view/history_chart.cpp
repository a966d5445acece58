#include "plugins/live_diffusion/view/history_chart.h"

#include <algorithm>
#include <cmath>

#include "core/artifact/plot/plot.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

Diagram benchmarkHistory(std::span<const HistoryPoint> points, double width, double height)
{
    plot::Plot chart;
    chart.title = "Benchmarks over time";
    chart.note = "Median ms per frame; whiskers: 95 % intervals.";
    chart.width = width;
    chart.height = height;
    chart.y.title = "ms per frame";
    for (const HistoryPoint& point : points) {
        const double at = static_cast<double>(chart.x.ticks.size()) + 1;
        chart.x.ticks.emplace_back(at, point.label);
        if (!std::isfinite(point.ms))
            continue;
        auto marks = std::ranges::find(chart.marks, point.config, &plot::Plot::Marks::label);
        if (marks == chart.marks.end()) {
            const std::string colour = "series " + std::to_string(chart.marks.size());
            chart.curves.push_back({{}, {}, colour, "", 1.4, false});
            chart.marks.push_back({{}, {}, colour, point.config});
            marks = chart.marks.end() - 1;
        }
        const bool hasInterval = std::isfinite(point.low) && std::isfinite(point.high);
        plot::Plot::Curve& curve =
            chart.curves[static_cast<std::size_t>(marks - chart.marks.begin())];
        curve.x.push_back(at);
        curve.y.push_back(point.ms);
        marks->x.push_back(at);
        marks->y.push_back(point.ms);
        marks->low.push_back(hasInterval ? point.low : point.ms);
        marks->high.push_back(hasInterval ? point.high : point.ms);
    }
    if (chart.marks.empty())
        return emptyChart(chart.title, "Nothing saved yet.", width, height);
    chart.x.low = 0.5;
    chart.x.high = static_cast<double>(points.size()) + 0.5;
    chart.y.low = 0;
    return layOut(chart);
}

} // namespace vergence::live
