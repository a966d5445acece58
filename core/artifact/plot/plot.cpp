#include "core/artifact/plot/plot.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/artifact/plot/plot_scale.h"
#include "core/artifact/plot/plot_sheet.h"
#include "core/base/error.h"

namespace vergence::plot {

namespace {

constexpr double kLegendLine = 18, kKey = 22;
constexpr double kNameLine = 16, kLongestName = 150; ///< names below an axis

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
    /// How the names below the x axis are set, so that none is lost.
    enum class Names { Row, TwoRows, Upright };

    double head(); ///< title, note, legend; y below them
    void drawKey(const Key& key, double x, double y);
    void gather(std::vector<double>& xs, std::vector<double>& ys) const;
    void makeRoomForNames();
    void axes();
    void ticksBelow();
    void cells();
    void notes();
    void curves();
    void areas();
    void hexagons();
    void references();
    int crowd(double left, double right, double bottom, double top) const;
    void error(double x, double low, double high, const std::string& colour);

    const Plot& m_plot;
    Diagram m_sheet;
    double m_left = 0, m_right = 0, m_bottom = 0, m_top = 0;
    std::optional<PlotScale> m_x, m_y;
    Names m_names = Names::Row;
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
    makeRoomForNames();
    m_y->place(m_bottom, m_top);
    if (!plot.isBare)
        axes();
    areas();
    hexagons();
    curves();
    references();
    notes();
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
    for (const std::string& line : wrapped(m_plot.note, kSmall, m_plot.width - 2 * kEdge)) {
        m_sheet.texts.push_back(label(kEdge, y - 5, line, kSmall, "muted", "left"));
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

/// Given ticks of a linear axis are names of categories: all of them are to be read.
void Layout::makeRoomForNames()
{
    const auto& ticks = m_plot.x.ticks;
    if (m_plot.x.isLog || ticks.size() < 2)
        return;
    double widest = 0, gap = INFINITY;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
        widest = std::max(widest, textLength(ticks[i].second, kSmall) + 6);
        if (i > 0)
            gap = std::min(gap, (*m_x)(ticks[i].first) - (*m_x)(ticks[i - 1].first));
    }
    if (widest <= gap)
        return;
    m_names = widest <= 2 * gap ? Names::TwoRows : Names::Upright;
    m_bottom += m_names == Names::TwoRows ? kNameLine : std::min(widest, kLongestName) - kNameLine;
}

void Layout::ticksBelow()
{
    double taken = -INFINITY; // labels of numbers never touch
    bool isLower = false;
    const int columns = std::max(2, static_cast<int>((m_right - m_left) / 70));
    for (const auto& tick : m_x->ticks(columns)) {
        const double at = (*m_x)(tick.value), half = textLength(tick.text, kSmall) / 2;
        if (!m_plot.hexagons) // a grid would lie over them
            m_sheet.polygons.push_back(
                rectangle(at - 0.5, m_bottom, at + 0.5, m_top, "faint", 1, ""));
        m_sheet.lines.push_back(straight(at, m_bottom, at, m_bottom - 4));
        if (m_names == Names::Upright) {
            m_sheet.texts.push_back(label(at, m_bottom - 7, shortened(tick.text, kLongestName),
                                          kSmall, "muted", "right"));
            m_sheet.texts.back().isUpright = true;
            continue;
        }
        if (m_names == Names::Row && at - half < taken)
            continue;
        taken = at + half + 6;
        const double down = m_names == Names::TwoRows && isLower ? kNameLine : 0;
        m_sheet.texts.push_back(label(at, m_bottom - 13 - down, tick.text, kSmall, "muted"));
        isLower = !isLower;
    }
}

void Layout::axes()
{
    const int rows = std::max(2, static_cast<int>((m_top - m_bottom) / 46));
    ticksBelow();
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
        Diagram::Line line{{}, {}, curve.colour, curve.width, curve.isDashed, curve.label};
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
}

/// Texts at their places; one that would lie over an earlier one moves up.
void Layout::notes()
{
    struct Box {
        double left, right, y;
    };
    std::vector<Box> taken;
    for (const Plot::Note& note : m_plot.notes) {
        if (!m_x->shows(note.x) || !m_y->shows(note.y))
            continue;
        const double half = textLength(note.text, kSmall) / 2 + 2;
        const double x = std::clamp((*m_x)(note.x), half, m_plot.width - half);
        double y = (*m_y)(note.y);
        for (bool isFree = false; !isFree;) {
            isFree = true;
            for (const Box& box : taken) {
                if (x + half > box.left && x - half < box.right && std::abs(y - box.y) < kSmall) {
                    y = box.y + kSmall + 1;
                    isFree = false;
                }
            }
        }
        taken.push_back({x - half, x + half, y});
        m_sheet.texts.push_back(label(x, y, note.text, kSmall, note.colour));
        m_sheet.texts.back().isBold = note.isBold;
    }
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

/// Marks and corners of curves in a part of the sheet.
int Layout::crowd(double left, double right, double bottom, double top) const
{
    int count = 0;
    const auto add = [&](const std::vector<double>& x, const std::vector<double>& y) {
        for (std::size_t i = 0; i < x.size(); ++i)
            count += x[i] > left && x[i] < right && y[i] > bottom && y[i] < top;
    };
    for (const Diagram::Points& points : m_sheet.points)
        add(points.x, points.y);
    for (const Diagram::Line& line : m_sheet.lines)
        add(line.x, line.y);
    return count;
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
            const double y = at + (isCrowded ? -8 : 8), wide = textLength(reference->label, kSmall);
            const bool isRight = crowd(m_left, m_left + wide + 12, y - 9, y + 9) >
                                 crowd(m_right - wide - 12, m_right, y - 9, y + 9);
            m_sheet.texts.push_back(label(isRight ? m_right - 4 : m_left + 6, y, reference->label,
                                          kSmall, reference->colour, isRight ? "right" : "left"));
        }
    }
}

} // namespace

Diagram layOut(const Plot& plot)
{
    return Layout(plot).take();
}

} // namespace vergence::plot
