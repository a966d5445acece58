#include "core/artifact/plot/plot_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/plot.h"
#include "core/base/error.h"

namespace vergence::plot {

Diagram sheet(double width, double height)
{
    Diagram sheet;
    sheet.right = width;
    sheet.top = height;
    sheet.keepsAspect = true;
    sheet.hasRuler = false;
    return sheet;
}

Diagram::Text label(double x, double y, std::string text, double size, std::string colour,
                    std::string anchor)
{
    Diagram::Text label;
    label.x = x;
    label.y = y;
    label.text = std::move(text);
    label.size = size;
    label.colour = std::move(colour);
    label.anchor = std::move(anchor);
    return label;
}

Diagram::Line straight(double x0, double y0, double x1, double y1, std::string colour, double width)
{
    Diagram::Line line;
    line.x = {x0, x1};
    line.y = {y0, y1};
    line.colour = std::move(colour);
    line.width = width;
    return line;
}

Diagram::Polygon rectangle(double x0, double y0, double x1, double y1, std::string colour,
                           double opacity, std::string tip)
{
    Diagram::Polygon area;
    area.x = {x0, x1, x1, x0};
    area.y = {y0, y0, y1, y1};
    area.colour = std::move(colour);
    area.opacity = opacity;
    area.label = std::move(tip);
    return area;
}

void addMoved(Diagram& to, Diagram from, double dx, double dy)
{
    const auto move = [&](auto& items, auto& into) {
        for (auto& item : items) {
            for (double& x : item.x)
                x += dx;
            for (double& y : item.y)
                y += dy;
            into.push_back(std::move(item));
        }
    };
    move(from.polygons, to.polygons);
    move(from.lines, to.lines);
    move(from.points, to.points);
    for (Diagram::Text& text : from.texts) {
        text.x += dx;
        text.y += dy;
        to.texts.push_back(std::move(text));
    }
}

Diagram layOut(const PlotTable& table)
{
    expects(!table.rows.empty(), "PlotTable: at least a heading");
    constexpr double kRow = 40, kHeading = 30;
    const std::size_t columns = table.rows.front().size();
    const double top = 28 + (table.note.empty() ? 0 : 18);
    const double height = top + kHeading + kRow * static_cast<double>(table.rows.size() - 1) + 14;
    Diagram drawing = sheet(table.width, height);
    Diagram::Text title = label(kEdge, height - 16, table.title, kTitle, "text", "left");
    title.isBold = true;
    drawing.texts.push_back(title);
    if (!table.note.empty())
        drawing.texts.push_back(label(kEdge, height - 36, table.note, kSmall, "muted", "left"));
    std::vector<double> wants(columns, 0);
    for (const auto& row : table.rows)
        for (std::size_t c = 0; c < columns; ++c)
            wants[c] = std::max({wants[c], textLength(row[c].text, kFace) + 18,
                                 textLength(row[c].grey, kSmall) + 18});
    double sum = 0;
    for (const double want : wants)
        sum += want;
    const double stretch = (table.width - 2 * kEdge) / sum;
    double y = height - top;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        const double rowHeight = r == 0 ? kHeading : kRow;
        double x = kEdge;
        for (std::size_t c = 0; c < columns; ++c) {
            const PlotTable::Cell& cell = table.rows[r][c];
            const double wide = wants[c] * stretch, at = c == 0 ? x + 4 : x + wide - 8;
            const std::string anchor = c == 0 ? "left" : "right";
            const double shift = cell.grey.empty() ? 0 : 7;
            drawing.texts.push_back(label(at, y - rowHeight / 2 + shift, cell.text, kFace,
                                          r == 0 ? "muted" : cell.colour, anchor));
            drawing.texts.back().isBold = r == 0 || c == 0;
            if (!cell.grey.empty())
                drawing.texts.push_back(
                    label(at, y - rowHeight / 2 - 8, cell.grey, kSmall - 0.5, "muted", anchor));
            x += wide;
        }
        y -= rowHeight;
        drawing.lines.push_back(
            straight(kEdge, y, table.width - kEdge, y, r == 0 ? "muted" : "faint"));
    }
    return drawing;
}

Diagram tiled(const std::vector<Diagram>& drawings, std::size_t columns, const std::string& title)
{
    expects(!drawings.empty() && columns > 0, "tiled: nothing to place");
    double cellWidth = 0, cellHeight = 0;
    for (const Diagram& drawing : drawings) {
        cellWidth = std::max(cellWidth, drawing.right);
        cellHeight = std::max(cellHeight, drawing.top);
    }
    columns = std::min(columns, drawings.size());
    const std::size_t rows = (drawings.size() + columns - 1) / columns;
    const double head = title.empty() ? 0 : 34;
    Diagram all = sheet(cellWidth * static_cast<double>(columns),
                        cellHeight * static_cast<double>(rows) + head);
    if (!title.empty()) {
        all.texts.push_back(label(kEdge, all.top - 20, title, kTitle + 2, "text", "left"));
        all.texts.back().isBold = true;
    }
    for (std::size_t i = 0; i < drawings.size(); ++i) {
        const double dx = cellWidth * static_cast<double>(i % columns),
                     dy = all.top - head - cellHeight * static_cast<double>(i / columns) -
                          drawings[i].top; // titles of a row are at one height
        addMoved(all, drawings[i], dx, dy);
    }
    return all;
}

double textLength(const std::string& text, double size)
{
    const auto characters = std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    return 0.56 * size * static_cast<double>(characters);
}

std::vector<std::string> wrapped(const std::string& text, double size, double width)
{
    std::vector<std::string> lines;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t space = std::min(text.find(' ', from), text.size());
        const std::string word = text.substr(from, space - from);
        if (lines.empty() || textLength(lines.back() + " " + word, size) > width)
            lines.push_back(word);
        else
            lines.back() += " " + word;
        from = space + 1;
    }
    return lines;
}

std::string shortened(std::string text, double width)
{
    if (textLength(text, kSmall) <= width)
        return text;
    while (!text.empty() && textLength(text + "…", kSmall) > width) {
        while ((static_cast<unsigned char>(text.back()) & 0xC0) == 0x80)
            text.pop_back(); // the rest of a letter
        text.pop_back();
    }
    return text + "…";
}

std::string shortNumber(double value, int digits)
{
    if (!std::isfinite(value))
        return "–";
    const double size = std::abs(value);
    if (size != 0 && (size < 1e-3 || size >= 1e5))
        return fmt::format("{:.{}e}", value, std::max(1, digits - 1));
    const int leading = size == 0 ? 0 : static_cast<int>(std::floor(std::log10(size)));
    return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - leading));
}

std::string heatColour(double fraction)
{
    // Five anchors of viridis (Smith, van der Walt, 2015), linear in between.
    static constexpr std::array<std::array<double, 3>, 5> kAnchors{
        {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
    const double at = std::clamp(fraction, 0.0, 1.0) * 4;
    const auto low = std::min<std::size_t>(3, static_cast<std::size_t>(at));
    const double t = at - static_cast<double>(low);
    std::array<int, 3> rgb{};
    for (std::size_t c = 0; c < 3; ++c)
        rgb[c] = static_cast<int>(
            std::lround(kAnchors[low][c] + t * (kAnchors[low + 1][c] - kAnchors[low][c])));
    return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

} // namespace vergence::plot
