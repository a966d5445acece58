#include "plugins/live_diffusion/view/drift_charts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_sheet.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/view/chart_parts.h"
#include "plugins/live_diffusion/view/picture_sheet.h"

namespace vergence::live {

namespace {

constexpr std::size_t kMostPoints = 160; ///< of a curve; longer ones are means of neighbours

struct Measure {
    const char *title, *unit;
    std::vector<double> DriftVariant::*values;
};
constexpr Measure kMeasures[] = {
    {"PSNR", "dB", &DriftVariant::psnr},
    {"Contrast", "of the target's", &DriftVariant::contrastRatio},
    {"Detail", "of the target's", &DriftVariant::detailRatio},
    {"Mean colour", "distance", &DriftVariant::colourDistance},
    {"Repetition", "cosine beyond the target's", &DriftVariant::repetition},
    {"Temporal error", "mean amount", &DriftVariant::temporalError}};

std::string colourOf(std::size_t variant, const DriftVariant& of)
{
    return of.isReference ? "muted" : "series " + std::to_string(variant);
}

plot::Plot::Curve curveOf(const std::vector<double>& values)
{
    plot::Plot::Curve curve;
    const std::size_t stride = (values.size() + kMostPoints - 1) / kMostPoints;
    for (std::size_t from = 0; from < values.size(); from += stride) {
        double sum = 0, count = 0;
        for (std::size_t i = from; i < std::min(from + stride, values.size()); ++i)
            if (std::isfinite(values[i])) {
                sum += values[i];
                count += 1;
            }
        curve.x.push_back(static_cast<double>(from) + (static_cast<double>(stride) - 1) / 2);
        curve.y.push_back(count > 0 ? sum / count : NAN);
    }
    return curve;
}

Diagram chartOf(const Measure& measure, const DriftStudy& study, double width, double height)
{
    plot::Plot chart;
    chart.title = measure.title;
    chart.width = width;
    chart.height = height;
    chart.x.title = "frame";
    chart.y.title = measure.unit;
    for (std::size_t i = 0; i < study.variants.size(); ++i) {
        const DriftVariant& variant = study.variants[i];
        plot::Plot::Curve curve = curveOf(variant.*measure.values);
        const auto finite =
            std::ranges::count_if(curve.y, [](double y) { return std::isfinite(y); });
        if (finite == 0)
            continue;
        curve.colour = colourOf(i, variant);
        curve.width = 1.6;
        curve.isDashed = variant.isReference;
        if (finite == 1) // a line needs two
            chart.marks.push_back({curve.x, curve.y, curve.colour});
        else
            chart.curves.push_back(std::move(curve));
    }
    if (chart.curves.empty() && chart.marks.empty())
        return emptyChart(measure.title, "Not measured yet.", width, height);
    if (measure.values == &DriftVariant::contrastRatio) {
        chart.note = "stable between 0.8 and 1.25, collapsed below 0.1";
        chart.references = {
            {1.25, false, "", "muted"}, {0.8, false, "", "muted"}, {0.1, false, "", "warning"}};
    }
    return layOut(chart);
}

/// Lines with names above everything, in as many rows as it takes.
Diagram withLegend(Diagram charts, const DriftStudy& study, const std::string& title)
{
    constexpr double kKey = 24, kLine = 20, kTitleRoom = 34;
    struct Entry {
        double x, y;
    };
    std::vector<Entry> entries;
    double x = plot::kEdge, y = 0;
    for (const DriftVariant& variant : study.variants) {
        const double wide = kKey + 6 + plot::textLength(variant.name, plot::kSmall) + 20;
        if (x > plot::kEdge && x + wide > charts.right - plot::kEdge) {
            x = plot::kEdge;
            y += kLine;
        }
        entries.push_back({x, y});
        x += wide;
    }
    const double room = kTitleRoom + (entries.empty() ? 0 : y + kLine + 6);
    Diagram sheet = plot::sheet(charts.right, charts.top + room);
    plot::addMoved(sheet, std::move(charts), 0, 0);
    sheet.texts.push_back(
        plot::label(plot::kEdge, sheet.top - 20, title, plot::kTitle + 2, "text", "left"));
    sheet.texts.back().isBold = true;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const double at = sheet.top - kTitleRoom - 10 - entries[i].y;
        Diagram::Line key = plot::straight(entries[i].x, at, entries[i].x + kKey, at,
                                           colourOf(i, study.variants[i]), 2.4);
        key.isDashed = study.variants[i].isReference;
        sheet.lines.push_back(std::move(key));
        sheet.texts.push_back(plot::label(entries[i].x + kKey + 6, at, study.variants[i].name,
                                          plot::kSmall, "text", "left"));
    }
    return sheet;
}

std::string verdictColour(const std::string& verdict)
{
    return verdict == "stable" ? "accent" : verdict == "collapsed" ? "warning" : "text";
}

} // namespace

Diagram driftCharts(const DriftStudy& study, double cellWidth, double cellHeight)
{
    std::vector<Diagram> charts;
    for (const Measure& measure : kMeasures)
        charts.push_back(chartOf(measure, study, cellWidth, cellHeight));
    return withLegend(plot::tiled(charts, 3, ""), study, "Drift over the frames");
}

Image ablationGrid(const DriftStudy& study, int cell, bool isDark)
{
    expects(cell >= 48, "ablation grid: cells of at least 48 px");
    constexpr int kEdge = 12, kGap = 4, kHead = 56, kNumbers = 170;
    double longest = plot::textLength("target", plot::kFace);
    for (const DriftVariant& variant : study.variants)
        longest = std::max(longest, plot::textLength(variant.name, plot::kFace));
    const int names = static_cast<int>(std::ceil(std::min(longest, 260.0))) + 12;
    const auto columns = static_cast<int>(study.thumbnailFrames.size());
    const int rows = static_cast<int>(study.variants.size()) + (study.targets.empty() ? 0 : 1);
    const int right = kEdge + names + columns * (cell + kGap);
    PictureSheet sheet(std::max(right + kNumbers + kEdge, 460),
                       kHead + std::max(1, rows) * (cell + kGap) - kGap + kEdge, isDark);
    sheet.text(kEdge, kEdge + 6, "What helps against drift", 16, "text", "left", true);
    for (int i = 0; i < columns; ++i)
        sheet.text(kEdge + names + i * (cell + kGap) + cell / 2.0, kHead - 10,
                   fmt::format("frame {}", study.thumbnailFrames[static_cast<std::size_t>(i)]), 12,
                   "muted", "centre");
    int top = kHead;
    const auto row = [&](const std::string& name, const std::vector<Image>& pictures) {
        double y = top + cell / 2.0;
        const std::vector<std::string> lines = plot::wrapped(name, plot::kFace, names - 8);
        y -= 9.0 * (static_cast<double>(lines.size()) - 1);
        for (const std::string& line : lines) {
            sheet.text(kEdge, y, line, plot::kFace);
            y += 18;
        }
        for (int i = 0; i < columns; ++i) {
            const auto at = static_cast<std::size_t>(i);
            sheet.picture(kEdge + names + i * (cell + kGap), top, cell,
                          at < pictures.size() ? pictures[at] : Image{});
        }
        top += cell + kGap;
    };
    if (!study.targets.empty())
        row("target", study.targets);
    for (const DriftVariant& variant : study.variants) {
        const double middle = top + cell / 2.0;
        row(variant.name, variant.thumbnails);
        sheet.text(right + 10, middle - 10, variant.verdict, 14, verdictColour(variant.verdict),
                   "left", true);
        if (std::isfinite(variant.slope))
            sheet.text(right + 10, middle + 10,
                       fmt::format("{}{:.2f} dB / 100 frames", variant.slope < 0 ? "−" : "+",
                                   std::abs(variant.slope)),
                       12, "muted");
    }
    if (rows == 0)
        sheet.text(kEdge, kHead + cell / 2.0, "No stream measured yet.", 13, "muted");
    return std::move(sheet).take();
}

} // namespace vergence::live
