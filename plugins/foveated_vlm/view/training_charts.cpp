#include "plugins/foveated_vlm/view/training_charts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_sheet.h"

namespace vergence::fvlm {

namespace {

constexpr int kColumns = 400;      ///< points of a line at most
constexpr std::size_t kNoisy = 60; ///< values from which on a line is smoothed
constexpr std::size_t kReach = 4;  ///< neighbours on either side that a smooth line is the mean of

std::string colourOf(std::size_t line)
{
    return "series " + std::to_string(line);
}

const Series* seriesWithPoints(const MetricStore& store, const std::string& name)
{
    const Series* series = store.find(name);
    const bool hasOne =
        series && series->summary().count > series->summary().notFinite && series->size() > 0;
    return hasOne ? series : nullptr;
}

/// Means over neighbours on both sides, which lag behind nothing but at the ends.
std::vector<double> centredMeans(const std::vector<double>& values)
{
    std::vector<double> means;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t first = i - std::min(i, kReach);
        const std::size_t last = std::min(i + kReach, values.size() - 1);
        double sum = 0;
        for (std::size_t k = first; k <= last; ++k)
            sum += values[k];
        means.push_back(sum / static_cast<double>(last - first + 1));
    }
    return means;
}

/// The band of what happened around each place.
plot::Plot::Band widened(const plot::Plot::Band& band)
{
    plot::Plot::Band wide = band;
    for (std::size_t i = 0; i < band.x.size(); ++i)
        for (std::size_t k = i - std::min(i, kReach); k < std::min(i + kReach + 1, band.x.size());
             ++k) {
            wide.low[i] = std::min(wide.low[i], band.low[k]);
            wide.high[i] = std::max(wide.high[i], band.high[k]);
        }
    return wide;
}

/// A line of at most kColumns points; long ones smoothed over the band of all values.
void addLine(plot::Plot& chart, const Series& series, const ChartGroup::Line& line,
             const std::string& colour)
{
    const auto [first, last] = std::ranges::minmax(series.steps());
    const bool isNoisy = series.size() >= kNoisy;
    plot::Plot::Curve curve{{}, {}, colour, line.label, 2, line.isDashed};
    plot::Plot::Band band{{}, {}, {}, colour, {}, 0.16};
    for (const Series::Bucket& bucket : series.decimate(XAxis::Step, static_cast<double>(first),
                                                        static_cast<double>(last), kColumns)) {
        curve.x.push_back(bucket.x);
        curve.y.push_back((bucket.minimum + bucket.maximum) / 2);
        band.x.push_back(bucket.x);
        band.low.push_back(bucket.minimum);
        band.high.push_back(bucket.maximum);
    }
    if (isNoisy) {
        curve.y = centredMeans(curve.y);
        chart.bands.push_back(widened(band));
    }
    if (curve.x.size() == 1)
        chart.marks.push_back({curve.x, curve.y, colour, line.label});
    else
        chart.curves.push_back(std::move(curve));
}

plot::Plot plotOf(const ChartGroup& group, const MetricStore& store, const ChartLook& look)
{
    plot::Plot chart;
    chart.title = group.title;
    chart.note = group.note;
    chart.width = look.width;
    chart.height = look.height;
    chart.x.title = "micro-step";
    chart.y.title = group.yTitle;
    chart.y.isLog = group.isLog;
    for (std::size_t i = 0; i < group.lines.size(); ++i)
        if (const Series* series = seriesWithPoints(store, group.lines[i].series))
            addLine(chart, *series, group.lines[i], colourOf(i));
    if (group.reference)
        chart.references.push_back({*group.reference, false, group.referenceLabel, "warning"});
    for (const ChartReference& reference : look.references)
        if (reference.group == group.id)
            chart.references.push_back({reference.value, false, reference.label, "muted"});
    return chart;
}

const ChartGroup& groupCalled(const std::string& id)
{
    return *std::ranges::find(chartGroups(), id, &ChartGroup::id);
}

Diagram sentence(const std::string& title, const std::string& text, const ChartLook& look)
{
    Diagram sheet = plot::sheet(look.width, look.height);
    sheet.texts.push_back(
        plot::label(plot::kEdge, look.height - 18, title, plot::kTitle, "text", "left"));
    sheet.texts.back().isBold = true;
    sheet.texts.push_back(plot::label(look.width / 2, look.height / 2, text, plot::kFace, "muted"));
    return sheet;
}

} // namespace

bool hasPoints(const ChartGroup& group, const MetricStore& store)
{
    return std::ranges::any_of(group.lines, [&](const ChartGroup::Line& line) {
        return seriesWithPoints(store, line.series) != nullptr;
    });
}

Diagram trainingChart(const ChartGroup& group, const MetricStore& store, const ChartLook& look)
{
    return hasPoints(group, store) ? layOut(plotOf(group, store, look))
                                   : sentence(group.title, "Not reported yet.", look);
}

Diagram lossChart(const MetricStore& store, const ChartLook& look)
{
    ChartLook wide = look;
    wide.width = std::max(look.width, 720.0);
    return plot::tiled({trainingChart(groupCalled("loss"), store, wide),
                        trainingChart(groupCalled("ratio"), store, wide)},
                       1, "");
}

Diagram chartPage(const MetricStore& store, const ChartLook& look)
{
    std::vector<Diagram> charts;
    for (const ChartGroup& group : chartGroups())
        if (hasPoints(group, store))
            charts.push_back(trainingChart(group, store, look));
    if (charts.empty())
        return sentence("Training", "Not reported yet.", look);
    return plot::tiled(charts, 2, "");
}

Diagram frameLossChart(const MetricStore& store, const ChartLook& look)
{
    plot::Plot chart;
    chart.title = "Loss per frame";
    chart.note = "Mean over the last tenth of the run. Frame 1 has nothing to go by.";
    chart.width = look.width;
    chart.height = look.height;
    chart.x.title = "frame";
    chart.y.title = "loss";
    chart.y.low = 0;
    for (int frame = 1;; ++frame) {
        const Series* series = seriesWithPoints(store, fmt::format("loss_frame_{}", frame));
        if (!series)
            break;
        double sum = 0, count = 0;
        const std::size_t size = series->size();
        for (std::size_t i = size - std::max<std::size_t>(1, size / 10); i < size; ++i)
            if (std::isfinite(series->values()[i])) {
                sum += series->values()[i];
                count += 1;
            }
        const double mean = count > 0 ? sum / count : NAN;
        chart.bars.push_back({frame - 0.35, frame + 0.35, 0, std::isfinite(mean) ? mean : 0,
                              "series 0", plot::shortNumber(mean, 4)});
        chart.x.ticks.emplace_back(frame, std::to_string(frame));
    }
    if (chart.bars.empty())
        return sentence(chart.title, "Losses per frame belong to variant A.", look);
    return layOut(chart);
}

} // namespace vergence::fvlm
