#include "plugins/mc_embedding/report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/mc_embedding/report/plot_scale.h"

namespace vergence::mc_embedding {

namespace {

constexpr double kTitle = 15, kFace = 12, kSmall = 11; ///< sizes of faces, px
constexpr double kEdge = 12, kLegendLine = 18, kKey = 22;

Diagram sheet(double width, double height)
{
    Diagram sheet;
    sheet.right = width;
    sheet.top = height;
    sheet.keepsAspect = true;
    sheet.hasRuler = false;
    return sheet;
}

Diagram::Text label(double x, double y, std::string text, double size = kFace,
                    std::string colour = "text", std::string anchor = "centre")
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

Diagram::Line straight(double x0, double y0, double x1, double y1, std::string colour = "muted",
                       double width = 1)
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

/// Everything of `from` moved by (dx, dy), added to `to`.
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

struct Key {
    std::string label, colour, kind; ///< kind: "line", "dashed", "area" or a mark
};

std::vector<Key> legend(const Plot& plot)
{
    std::vector<Key> keys;
    const auto add = [&](const std::string& label, const std::string& colour,
                         const std::string& kind) {
        const bool isKnown =
            std::ranges::any_of(keys, [&](const Key& key) { return key.label == label; });
        if (!label.empty() && !isKnown)
            keys.push_back({label, colour, kind});
    };
    for (const Plot::Curve& curve : plot.curves)
        add(curve.label, curve.colour, curve.isDashed ? "dashed" : "line");
    for (const Plot::Marks& marks : plot.marks)
        add(marks.label, marks.colour, marks.mark);
    for (const Plot::Band& band : plot.bands)
        add(band.label, band.colour, "area");
    for (const auto& [text, colour] : plot.keys)
        add(text, colour, "area");
    return keys;
}

/// The plot while it is being laid out.
class Layout {
public:
    explicit Layout(const Plot& plot);
    Diagram take() && { return std::move(m_sheet); }

private:
    double head(); ///< title, note, legend; y below them
    void drawKey(const Key& key, double x, double y);
    void gather(std::vector<double>& xs, std::vector<double>& ys) const;
    void axes();
    void cells();
    void curves();
    void areas();
    void hexagons();
    void references();
    void error(double x, double low, double high, const std::string& colour);

    const Plot& m_plot;
    Diagram m_sheet;
    double m_left = 0, m_right = 0, m_bottom = 0, m_top = 0;
    std::optional<PlotScale> m_x, m_y;
};

Layout::Layout(const Plot& plot) : m_plot(plot), m_sheet(sheet(plot.width, plot.height))
{
    m_top = std::floor(head() - 6);
    m_right = plot.width - kEdge - 8;
    m_bottom = plot.x.title.empty() ? 32 : 50;
    if (plot.cells) {
        cells();
        const double spare = std::floor(m_bottom - (plot.x.title.empty() ? 28 : 46));
        Diagram fitted = sheet(plot.width, plot.height - spare); // squares may need less height
        addMoved(fitted, std::move(m_sheet), 0, -spare);
        m_sheet = std::move(fitted);
        return;
    }
    std::vector<double> xs, ys;
    gather(xs, ys);
    m_x.emplace(plot.x, xs, 0, 1);
    m_y.emplace(plot.y, ys, 0, 1);
    double widest = 0;
    const int rows = std::max(2, static_cast<int>((m_top - m_bottom) / 46));
    for (const auto& tick : m_y->ticks(rows))
        widest = std::max(widest, textLength(tick.text, kSmall));
    m_left = std::ceil(kEdge + (plot.y.title.empty() ? 0 : 20) + widest + 8);
    if (plot.hasEqualScales) {
        const double wide = m_right - m_left, high = m_top - m_bottom;
        const double unit =
            std::max((m_x->high() - m_x->low()) / wide, (m_y->high() - m_y->low()) / high);
        m_x->widen(unit * wide);
        m_y->widen(unit * high);
    }
    m_x->place(m_left, m_right);
    m_y->place(m_bottom, m_top);
    axes();
    areas();
    hexagons();
    curves();
    references();
}

double Layout::head()
{
    double y = m_plot.height - kEdge;
    Diagram::Text title = label(kEdge, y - 6, m_plot.title, kTitle, "text", "left");
    title.isBold = true;
    if (!m_plot.title.empty()) {
        m_sheet.texts.push_back(title);
        y -= 21;
    }
    if (!m_plot.note.empty()) {
        m_sheet.texts.push_back(label(kEdge, y - 5, m_plot.note, kSmall, "muted", "left"));
        y -= 17;
    }
    double x = kEdge;
    const std::vector<Key> keys = legend(m_plot);
    for (const Key& key : keys) {
        const double wide = kKey + 6 + textLength(key.label, kSmall) + 16;
        if (x > kEdge && x + wide > m_plot.width - kEdge) {
            x = kEdge;
            y -= kLegendLine;
        }
        drawKey(key, x, y - 8);
        x += wide;
    }
    return keys.empty() ? y : y - kLegendLine;
}

void Layout::drawKey(const Key& key, double x, double y)
{
    if (key.kind == "line" || key.kind == "dashed") {
        Diagram::Line line = straight(x, y, x + kKey, y, key.colour, 2);
        line.isDashed = key.kind == "dashed";
        m_sheet.lines.push_back(line);
    } else if (key.kind == "area") {
        m_sheet.polygons.push_back(
            rectangle(x + 4, y - 5, x + kKey - 2, y + 5, key.colour, 0.6, ""));
    } else {
        m_sheet.points.push_back({{x + kKey / 2}, {y}, key.colour, "", key.kind, 4, 1});
    }
    m_sheet.texts.push_back(label(x + kKey + 6, y, key.label, kSmall, "text", "left"));
}

void Layout::gather(std::vector<double>& xs, std::vector<double>& ys) const
{
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    for (const Plot::Curve& curve : m_plot.curves)
        add(xs, curve.x), add(ys, curve.y);
    for (const Plot::Marks& marks : m_plot.marks)
        add(xs, marks.x), add(ys, marks.y), add(ys, marks.low), add(ys, marks.high);
    for (const Plot::Band& band : m_plot.bands)
        add(xs, band.x), add(ys, band.low), add(ys, band.high);
    for (const Plot::Bar& bar : m_plot.bars)
        add(xs, {bar.left, bar.right}), add(ys, {bar.bottom, bar.top});
    for (const Plot::Box& box : m_plot.boxes)
        add(xs, {box.at - box.width, box.at + box.width}), add(ys, {box.low, box.high});
    if (m_plot.hexagons)
        add(xs, m_plot.hexagons->x), add(ys, m_plot.hexagons->y);
    for (const Plot::Reference& reference : m_plot.references)
        (reference.isVertical ? xs : ys).push_back(reference.at);
}

void Layout::axes()
{
    const int columns = std::max(2, static_cast<int>((m_right - m_left) / 70)),
              rows = std::max(2, static_cast<int>((m_top - m_bottom) / 46));
    double taken = -INFINITY; // labels of ticks never touch
    for (const auto& tick : m_x->ticks(columns)) {
        const double at = (*m_x)(tick.value), half = textLength(tick.text, kSmall) / 2;
        if (!m_plot.hexagons) // a grid would lie over them
            m_sheet.polygons.push_back(
                rectangle(at - 0.5, m_bottom, at + 0.5, m_top, "faint", 1, ""));
        m_sheet.lines.push_back(straight(at, m_bottom, at, m_bottom - 4));
        if (at - half < taken)
            continue;
        taken = at + half + 6;
        m_sheet.texts.push_back(label(at, m_bottom - 13, tick.text, kSmall, "muted"));
    }
    for (const auto& tick : m_y->ticks(rows)) {
        const double at = (*m_y)(tick.value);
        if (!m_plot.hexagons)
            m_sheet.polygons.push_back(
                rectangle(m_left, at - 0.5, m_right, at + 0.5, "faint", 1, ""));
        m_sheet.lines.push_back(straight(m_left - 4, at, m_left, at));
        m_sheet.texts.push_back(label(m_left - 7, at, tick.text, kSmall, "muted", "right"));
    }
    m_sheet.lines.push_back(straight(m_left, m_bottom, m_right, m_bottom));
    m_sheet.lines.push_back(straight(m_left, m_bottom, m_left, m_top));
    if (!m_plot.x.title.empty())
        m_sheet.texts.push_back(label((m_left + m_right) / 2, 15, m_x->title()));
    if (!m_plot.y.title.empty()) {
        Diagram::Text title = label(kEdge + 4, (m_bottom + m_top) / 2, m_y->title());
        title.isUpright = true;
        m_sheet.texts.push_back(title);
    }
}

void Layout::cells()
{
    const PlotCells& cells = *m_plot.cells;
    expects(cells.values.size() == cells.rows * cells.columns && cells.rows && cells.columns,
            "Plot: cells need rows × columns values");
    double names = 0;
    for (const std::string& name : cells.rowNames)
        names = std::max(names, textLength(name, kSmall));
    constexpr double kBar = 14, kBarRoom = 70;
    m_left = std::ceil(kEdge + names + 8 + (m_plot.y.title.empty() ? 0 : 20));
    const double side =
        std::floor(std::min({(m_right - kBarRoom - m_left) / static_cast<double>(cells.columns),
                             (m_top - m_bottom) / static_cast<double>(cells.rows), 90.0}));
    const double low = m_bottom = m_top - side * static_cast<double>(cells.rows);
    const double right = m_left + side * static_cast<double>(cells.columns);
    const auto fraction = [&](double value) {
        return std::clamp((value - cells.low) / (cells.high - cells.low), 0.0, 1.0);
    };
    for (std::size_t row = 0; row < cells.rows; ++row) {
        const double top = m_top - side * static_cast<double>(row);
        if (row < cells.rowNames.size())
            m_sheet.texts.push_back(
                label(m_left - 7, top - side / 2, cells.rowNames[row], kSmall, "muted", "right"));
        for (std::size_t column = 0; column < cells.columns; ++column) {
            const double value = cells.values[row * cells.columns + column];
            const double x = m_left + side * static_cast<double>(column);
            if (!std::isfinite(value))
                continue;
            m_sheet.polygons.push_back(rectangle(x, top - side, x + side, top,
                                                 heatColour(fraction(value)), 1,
                                                 shortNumber(value, 4)));
            const std::string text = fmt::format("{:.{}f}", value, cells.digits);
            const double size = std::min(kFace, side / (0.58 * static_cast<double>(text.size())));
            if (size >= 6.5)
                m_sheet.texts.push_back(label(x + side / 2, top - side / 2, text, size,
                                              fraction(value) > 0.55 ? "#101010" : "#ffffff"));
        }
    }
    for (std::size_t column = 0; column < cells.columnNames.size(); ++column)
        m_sheet.texts.push_back(label(m_left + side * (static_cast<double>(column) + 0.5), low - 12,
                                      cells.columnNames[column], kSmall, "muted"));
    if (!m_plot.x.title.empty())
        m_sheet.texts.push_back(label((m_left + right) / 2, low - 31, m_plot.x.title));
    if (!m_plot.y.title.empty()) {
        m_sheet.texts.push_back(label(kEdge + 4, (low + m_top) / 2, m_plot.y.title));
        m_sheet.texts.back().isUpright = true;
    }
    constexpr int kSteps = 40; // colour bar; every step reaches to the top, so that no seams show
    const double step = (m_top - low) / kSteps;
    for (int i = 0; i < kSteps; ++i)
        m_sheet.polygons.push_back(rectangle(right + 18, low + i * step, right + 18 + kBar, m_top,
                                             heatColour((i + 0.5) / kSteps), 1, ""));
    for (int i = 0; i <= 4; ++i)
        m_sheet.texts.push_back(
            label(right + 18 + kBar + 5, low + (m_top - low) * i / 4,
                  fmt::format("{:g}", cells.low + (cells.high - cells.low) * i / 4), kSmall,
                  "muted", "left"));
}

void Layout::error(double x, double low, double high, const std::string& colour)
{
    if (!m_y->shows(low) || !m_y->shows(high))
        return;
    const double bottom = (*m_y)(low), top = (*m_y)(high);
    m_sheet.lines.push_back(straight(x, bottom, x, top, colour, 1.4));
    m_sheet.lines.push_back(straight(x - 4, bottom, x + 4, bottom, colour, 1.4));
    m_sheet.lines.push_back(straight(x - 4, top, x + 4, top, colour, 1.4));
}

void Layout::curves()
{
    for (const Plot::Curve& curve : m_plot.curves) {
        Diagram::Line line;
        line.colour = curve.colour;
        line.width = curve.width;
        line.isDashed = curve.isDashed;
        line.label = curve.label;
        for (std::size_t i = 0; i < std::min(curve.x.size(), curve.y.size()); ++i) {
            if (!m_x->shows(curve.x[i]) || !m_y->shows(curve.y[i]))
                continue;
            line.x.push_back((*m_x)(curve.x[i]));
            line.y.push_back((*m_y)(m_y->clamped(curve.y[i])));
        }
        m_sheet.lines.push_back(std::move(line));
    }
    for (const Plot::Marks& marks : m_plot.marks) {
        Diagram::Points points;
        points.colour = marks.colour;
        points.mark = marks.mark;
        points.radius = marks.radius;
        points.opacity = marks.opacity;
        points.label = marks.label;
        for (std::size_t i = 0; i < std::min(marks.x.size(), marks.y.size()); ++i) {
            if (!m_x->shows(marks.x[i]) || !m_y->shows(marks.y[i]))
                continue;
            points.x.push_back((*m_x)(marks.x[i]));
            points.y.push_back((*m_y)(marks.y[i]));
            if (i < marks.low.size() && i < marks.high.size())
                error(points.x.back(), marks.low[i], marks.high[i], marks.colour);
        }
        m_sheet.points.push_back(std::move(points));
    }
    for (const Plot::Note& note : m_plot.notes)
        if (m_x->shows(note.x) && m_y->shows(note.y))
            m_sheet.texts.push_back(
                label((*m_x)(note.x), (*m_y)(note.y), note.text, kSmall, note.colour));
}

void Layout::areas()
{
    for (const Plot::Band& band : m_plot.bands) {
        Diagram::Polygon area;
        area.colour = band.colour;
        area.opacity = band.opacity;
        for (std::size_t i = 0; i < band.x.size(); ++i)
            area.x.push_back((*m_x)(band.x[i])),
                area.y.push_back((*m_y)(m_y->clamped(band.low[i])));
        for (std::size_t i = band.x.size(); i-- > 0;)
            area.x.push_back((*m_x)(band.x[i])),
                area.y.push_back((*m_y)(m_y->clamped(band.high[i])));
        m_sheet.polygons.push_back(std::move(area));
    }
    for (const Plot::Bar& bar : m_plot.bars)
        m_sheet.polygons.push_back(rectangle((*m_x)(bar.left), (*m_y)(m_y->clamped(bar.bottom)),
                                             (*m_x)(bar.right), (*m_y)(m_y->clamped(bar.top)),
                                             bar.colour, bar.opacity, bar.tip));
    for (const Plot::Box& box : m_plot.boxes) {
        const double left = (*m_x)(box.at - box.width / 2), right = (*m_x)(box.at + box.width / 2),
                     middle = (*m_x)(box.at);
        error(middle, box.low, box.high, box.colour);
        m_sheet.polygons.push_back(
            rectangle(left, (*m_y)(box.q25), right, (*m_y)(box.q75), box.colour, 0.35, box.tip));
        m_sheet.lines.push_back(
            straight(left, (*m_y)(box.median), right, (*m_y)(box.median), box.colour, 2.2));
    }
}

void Layout::hexagons()
{
    if (!m_plot.hexagons)
        return;
    constexpr double kRadius = 11; // px from the centre to a corner
    const double stepX = std::sqrt(3.0) * kRadius, stepY = 1.5 * kRadius;
    std::map<std::pair<int, int>, int> counts;
    for (std::size_t i = 0; i < m_plot.hexagons->x.size(); ++i) {
        if (!m_x->shows(m_plot.hexagons->x[i]) || !m_y->shows(m_plot.hexagons->y[i]))
            continue;
        const double x = (*m_x)(m_plot.hexagons->x[i]) - m_left,
                     y = (*m_y)(m_plot.hexagons->y[i]) - m_bottom;
        std::pair<int, int> best;
        double nearest = INFINITY; // of the four candidates the nearest centre is the right one
        const int row = static_cast<int>(std::floor(y / stepY));
        for (const int r : {row, row + 1}) {
            const double shift = r & 1 ? 0.5 : 0;
            const int c = static_cast<int>(std::lround(x / stepX - shift));
            const double dx = x - (c + shift) * stepX, dy = y - r * stepY;
            if (dx * dx + dy * dy < nearest)
                nearest = dx * dx + dy * dy, best = {r, c};
        }
        ++counts[best];
    }
    int most = 1;
    for (const auto& [cell, count] : counts)
        most = std::max(most, count);
    for (const auto& [cell, count] : counts) {
        const double x = m_left + (cell.second + (cell.first & 1 ? 0.5 : 0)) * stepX,
                     y = m_bottom + cell.first * stepY;
        Diagram::Polygon hexagon;
        for (int corner = 0; corner < 6; ++corner) {
            const double angle = (corner + 0.5) * M_PI / 3;
            hexagon.x.push_back(std::round((x + (kRadius + 0.4) * std::cos(angle)) * 10) / 10);
            hexagon.y.push_back(std::round((y + (kRadius + 0.4) * std::sin(angle)) * 10) / 10);
        }
        hexagon.colour = heatColour(static_cast<double>(count) / most);
        hexagon.label = fmt::format("{} {}", count, m_plot.hexagons->label);
        m_sheet.polygons.push_back(std::move(hexagon));
    }
}

void Layout::references()
{
    std::vector<const Plot::Reference*> order;
    for (const Plot::Reference& reference : m_plot.references)
        order.push_back(&reference);
    std::ranges::sort(order, {}, [](const Plot::Reference* r) { return r->at; });
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Plot::Reference* reference = order[i];
        const PlotScale& scale = reference->isVertical ? *m_x : *m_y;
        if (!scale.shows(reference->at) || reference->at < scale.low() ||
            reference->at > scale.high())
            continue;
        const double at = scale(reference->at);
        const bool isCrowded = i + 1 < order.size() && !order[i + 1]->isVertical &&
                               scale(order[i + 1]->at) - at < 24; // the label goes below its line
        Diagram::Line line = reference->isVertical
                                 ? straight(at, m_bottom, at, m_top, reference->colour, 1.4)
                                 : straight(m_left, at, m_right, at, reference->colour, 1.4);
        line.isDashed = true;
        line.label = reference->label;
        m_sheet.lines.push_back(line);
        if (reference->label.empty())
            continue;
        if (reference->isVertical) {
            const bool isRight = at > (m_left + m_right) / 2;
            m_sheet.texts.push_back(label(at + (isRight ? -5 : 5), m_top - 8, reference->label,
                                          kSmall, reference->colour, isRight ? "right" : "left"));
        } else {
            m_sheet.texts.push_back(label(m_left + 6, at + (isCrowded ? -8 : 8), reference->label,
                                          kSmall, reference->colour, "left"));
        }
    }
}

} // namespace

Diagram layOut(const Plot& plot)
{
    return Layout(plot).take();
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
                     dy = all.top - head - cellHeight * static_cast<double>(i / columns + 1);
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

} // namespace vergence::mc_embedding
