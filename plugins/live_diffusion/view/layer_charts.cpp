#include "plugins/live_diffusion/view/layer_charts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_scale.h"
#include "core/artifact/plot/plot_sheet.h"
#include "plugins/live_diffusion/view/chart_parts.h"

namespace vergence::live {

namespace {

using plot::kEdge, plot::kFace, plot::kSmall;

struct BoundStyle {
    LayerBound bound;
    const char *name, *colour;
};
constexpr BoundStyle kBounds[] = {{LayerBound::Compute, "compute", "series 0"},
                                  {LayerBound::Memory, "memory", "series 1"},
                                  {LayerBound::Latency, "latency", "series 2"}};

const BoundStyle& styleOf(LayerBound bound)
{
    return kBounds[static_cast<std::size_t>(bound)];
}

double timeOf(const LayerTime& layer)
{
    return std::isfinite(layer.microseconds) && layer.microseconds > 0 ? layer.microseconds : 0;
}

std::string timeText(double microseconds)
{
    return microseconds >= 1000 ? plot::shortNumber(microseconds / 1000) + " ms"
                                : plot::shortNumber(microseconds) + " μs";
}

bool hasPlace(const LayerTime& layer)
{
    return timeOf(layer) > 0 && layer.flop > 0 && layer.bytes > 0 && std::isfinite(layer.flop) &&
           std::isfinite(layer.bytes);
}

/// FLOP/s in a unit that suits the greatest.
struct RateUnit {
    double factor;
    const char* name;
};
RateUnit rateUnit(double greatest)
{
    if (greatest >= 1e12)
        return {1e12, "TFLOP/s"};
    return {1e9, "GFLOP/s"};
}

/// Operations of one block.
struct BlockRow {
    std::string name;
    std::vector<const LayerTime*> a, b;
    double timeA = 0, timeB = 0;
};

std::vector<BlockRow> blockRows(std::span<const LayerTime> a, std::span<const LayerTime> b)
{
    std::vector<BlockRow> rows;
    std::map<std::string, std::size_t> place;
    const auto rowOf = [&](const LayerTime& layer) -> BlockRow& {
        const auto [found, isNew] = place.try_emplace(layer.block, rows.size());
        if (isNew)
            rows.push_back({layer.block, {}, {}});
        return rows[found->second];
    };
    for (const LayerTime& layer : a) {
        BlockRow& row = rowOf(layer);
        row.a.push_back(&layer);
        row.timeA += timeOf(layer);
    }
    for (const LayerTime& layer : b) {
        BlockRow& row = rowOf(layer);
        row.b.push_back(&layer);
        row.timeB += timeOf(layer);
    }
    return rows;
}

/// Draws the rows of layerBars() from the top down.
class BarSheet {
public:
    BarSheet(const std::vector<BlockRow>& rows, bool hasB, const LayerLook& look)
        : m_look(look),
          m_hasB(hasB),
          m_rowHeight(hasB ? 34 : 24),
          m_sheet(plot::sheet(look.width,
                              kHead + m_rowHeight * static_cast<double>(rows.size()) + kFoot))
    {
        std::vector<double> values{0};
        for (const BlockRow& row : rows)
            values.insert(values.end(), {row.timeA, row.timeB});
        double names = 0;
        for (const BlockRow& row : rows)
            names = std::max(names, plot::textLength(row.name, kSmall));
        m_left = std::ceil(kEdge + std::min(names, 150.0) + 8);
        m_right = look.width - kEdge - (hasB ? 170 : 110);
        m_unit = std::ranges::max(values) >= 1000 ? 1000 : 1;
        for (double& value : values)
            value /= m_unit;
        plot::PlotAxis axis{m_unit > 1 ? "ms" : "μs", false, 0.0, {}, {}};
        m_scale.emplace(axis, values, m_left, m_right);
        for (const BlockRow& row : rows) {
            m_sumA += row.timeA;
            m_sumB += row.timeB;
        }
    }

    Diagram draw(const std::vector<BlockRow>& rows) &&
    {
        head();
        const double top = m_sheet.top - kHead;
        const double bottom = top - m_rowHeight * static_cast<double>(rows.size());
        axis(bottom, top);
        double y = top;
        for (const BlockRow& row : rows) {
            draw(row, y);
            y -= m_rowHeight;
        }
        return std::move(m_sheet);
    }

private:
    static constexpr double kHead = 62, kFoot = 48;

    void write(double x, double y, const std::string& text, double size, const char* colour,
               const char* anchor = "left", bool isBold = false)
    {
        m_sheet.texts.push_back(plot::label(x, y, text, size, colour, anchor));
        m_sheet.texts.back().isBold = isBold;
    }
    void head()
    {
        const double top = m_sheet.top;
        write(kEdge, top - 18, "Time per operation", plot::kTitle, "text", "left", true);
        const std::string sums = m_hasB
                                     ? fmt::format("{} {}, {} {}", m_look.nameA, timeText(m_sumA),
                                                   m_look.nameB, timeText(m_sumB))
                                     : timeText(m_sumA) + " in all";
        write(m_look.width - kEdge, top - 18, sums, kFace, "muted", "right");
        double x = kEdge;
        for (const BoundStyle& style : kBounds) {
            m_sheet.polygons.push_back(
                plot::rectangle(x, top - 47, x + 16, top - 37, style.colour, 0.8, ""));
            const std::string name = std::string("bound by ") + style.name;
            write(x + 22, top - 42, name, kSmall, "text");
            x += 22 + plot::textLength(name, kSmall) + 16;
        }
        if (m_hasB)
            write(x, top - 42, fmt::format("upper bar {}, lower {}", m_look.nameA, m_look.nameB),
                  kSmall, "muted");
    }
    void axis(double bottom, double top)
    {
        for (const auto& tick : m_scale->ticks(6)) {
            const double at = (*m_scale)(tick.value);
            m_sheet.polygons.push_back(
                plot::rectangle(at - 0.5, bottom, at + 0.5, top, "faint", 1, ""));
            write(at, bottom - 12, tick.text, kSmall, "muted", "centre");
        }
        m_sheet.lines.push_back(plot::straight(m_left, bottom, m_right, bottom));
        write((m_left + m_right) / 2, bottom - 30, m_scale->title(), kFace, "text", "centre");
    }
    void draw(const BlockRow& row, double top)
    {
        write(m_left - 8, top - m_rowHeight / 2, plot::shortened(row.name, 150), kSmall, "text",
              "right");
        const double end = m_hasB ? top - 19 : top - m_rowHeight + 4;
        bar(row.a, end, top - 4, 0.85);
        if (m_hasB)
            bar(row.b, top - m_rowHeight + 4, end - 1, 0.5);
        std::string text = timeText(row.timeA);
        if (m_hasB)
            text += " / " + timeText(row.timeB);
        else if (m_sumA > 0)
            text += fmt::format(", {:.0f} %", 100 * row.timeA / m_sumA);
        const double longest = std::max(row.timeA, row.timeB) / m_unit;
        write((*m_scale)(longest) + 8, top - m_rowHeight / 2, text, kSmall, "muted");
    }
    void bar(const std::vector<const LayerTime*>& layers, double bottom, double top, double opacity)
    {
        double sum = 0;
        for (const LayerTime* layer : layers) {
            const double from = (*m_scale)(sum / m_unit);
            sum += timeOf(*layer);
            const double to = (*m_scale)(sum / m_unit);
            if (to <= from)
                continue;
            const double gap = to - from > 3 ? 0.8 : 0; // neighbours can be told apart
            m_sheet.polygons.push_back(
                plot::rectangle(from, bottom, to - gap, top, styleOf(layer->bound).colour, opacity,
                                fmt::format("{}: {}, bound by {}", layer->name,
                                            timeText(timeOf(*layer)), styleOf(layer->bound).name)));
        }
    }

    const LayerLook& m_look;
    bool m_hasB;
    double m_rowHeight;
    Diagram m_sheet;
    double m_left = 0, m_right = 0, m_unit = 1, m_sumA = 0, m_sumB = 0;
    std::optional<plot::PlotScale> m_scale;
};

} // namespace

Diagram roofline(std::span<const LayerTime> layers, std::span<const Roof> roofs,
                 const LayerLook& look)
{
    std::vector<const LayerTime*> shown;
    for (const LayerTime& layer : layers)
        if (hasPlace(layer))
            shown.push_back(&layer);
    const std::string title = "Roofline";
    if (shown.empty())
        return emptyChart(title, "No operation measured yet.", look.width, look.height);
    std::ranges::stable_sort(shown, std::ranges::greater(),
                             [](const LayerTime* l) { return l->microseconds; });
    const auto intensity = [](const LayerTime& layer) { return layer.flop / layer.bytes; };
    const auto rate = [](const LayerTime& layer) { return layer.flop / layer.microseconds * 1e6; };
    double low = INFINITY, high = 0, fastest = 0;
    for (const LayerTime* layer : shown) {
        low = std::min(low, intensity(*layer));
        high = std::max(high, intensity(*layer));
        fastest = std::max(fastest, rate(*layer));
    }
    std::vector<Roof> drawn;
    for (const Roof& roof : roofs)
        if (roof.flopPerSecond > 0 && roof.bytesPerSecond > 0) {
            drawn.push_back(roof);
            const double ridge = roof.flopPerSecond / roof.bytesPerSecond;
            low = std::min(low, ridge / 4);
            high = std::max(high, ridge * 4);
            fastest = std::max(fastest, roof.flopPerSecond);
        }
    const auto isAbove = [&](const LayerTime* layer, const Roof& roof) {
        return rate(*layer) > std::min(roof.flopPerSecond, intensity(*layer) * roof.bytesPerSecond);
    };
    const auto above =
        drawn.empty() ? 0 : std::ranges::count_if(shown, [&](const LayerTime* layer) {
            return std::ranges::all_of(drawn,
                                       [&](const Roof& roof) { return isAbove(layer, roof); });
        });
    low /= 1.6;
    high *= 1.6;
    const RateUnit unit = rateUnit(fastest);

    plot::Plot chart;
    chart.title = title;
    chart.note = "One dot per operation, its area in proportion to its time.";
    if (shown.size() < layers.size())
        chart.note +=
            fmt::format(" {} without products or time left out.", layers.size() - shown.size());
    if (above > 0)
        chart.note += fmt::format(" {} above the roof: their algorithm does less work than is "
                                  "counted, or the roof was measured while others computed.",
                                  above);
    chart.width = look.width;
    chart.height = look.height;
    chart.x = {"intensity, FLOP per byte", true, low, high, {}};
    chart.y = {unit.name, true, {}, {}, {}};
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        const Roof& roof = drawn[i];
        const double ridge = roof.flopPerSecond / roof.bytesPerSecond;
        plot::Plot::Curve curve{{low, ridge, high}, {}, "text", "", 1.8, !roof.isMeasured};
        for (const double at : curve.x)
            curve.y.push_back(std::min(roof.flopPerSecond, at * roof.bytesPerSecond) / unit.factor);
        curve.colour = i == 0 ? "text" : i == 1 ? "warning" : "muted";
        curve.label =
            fmt::format("{}: {} {}, {} GB/s, ridge {}", roof.name,
                        plot::shortNumber(roof.flopPerSecond / unit.factor), unit.name,
                        plot::shortNumber(roof.bytesPerSecond / 1e9), plot::shortNumber(ridge));
        chart.curves.push_back(std::move(curve));
    }
    for (const LayerTime* layer : shown) {
        const double radius =
            std::max(2.0, 10 * std::sqrt(layer->microseconds / shown.front()->microseconds));
        chart.marks.push_back({{intensity(*layer)},
                               {rate(*layer) / unit.factor},
                               styleOf(layer->bound).colour,
                               "",
                               "disc",
                               radius,
                               0.6});
    }
    for (const BoundStyle& style : kBounds)
        chart.keys.emplace_back(std::string("bound by ") + style.name, style.colour);
    Diagram drawing = layOut(chart);
    for (std::size_t i = 0; i < shown.size(); ++i) // the marks are the last points of the drawing
        drawing.points[drawing.points.size() - shown.size() + i].label =
            fmt::format("{}: {}, {} {}", shown[i]->name, timeText(shown[i]->microseconds),
                        plot::shortNumber(rate(*shown[i]) / unit.factor), unit.name);
    return drawing;
}

Diagram layerBars(std::span<const LayerTime> a, std::span<const LayerTime> b, const LayerLook& look)
{
    const std::vector<BlockRow> rows = blockRows(a, b);
    if (rows.empty())
        return emptyChart("Time per operation", "No operation measured yet.", look.width, 160);
    return BarSheet(rows, !b.empty(), look).draw(rows);
}

} // namespace vergence::live
