#include "core/artifact/plot/diagram_svg.h"

#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/diagram_style.h"

namespace vergence::plot {

namespace {

constexpr double kTextDrop = 0.35; ///< of a face from its middle to the base line

/// Tenths of a unit are enough for the eye and keep pages small.
std::string number(double value)
{
    return fmt::format("{:g}", std::round(value * 10) / 10);
}

/// `what` is "fill" or "stroke"; named colours are left to the style sheet.
std::string ink(const char* what, const std::string& colour)
{
    const std::string name = inkClass(colour);
    return name.empty() ? fmt::format(" {}=\"{}\"", what, inkOf(colour).hex())
                        : fmt::format(" class=\"{}\"", name);
}

std::string opacity(double value)
{
    return value >= 1 ? "" : fmt::format(" opacity=\"{:.3g}\"", value);
}

std::string tip(const std::string& label)
{
    return label.empty() ? "" : "<title>" + escaped(label) + "</title>";
}

/// Writes the elements of one drawing; y grows downwards in SVG.
class SvgWriter {
public:
    explicit SvgWriter(const Diagram& diagram) : m_diagram(diagram) {}

    std::string write()
    {
        m_out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" "
                            "width=\"{0:g}\" height=\"{1:g}\">\n",
                            m_diagram.right - m_diagram.left, m_diagram.top - m_diagram.bottom);
        for (const Diagram::Polygon& polygon : m_diagram.polygons)
            add(polygon);
        for (const Diagram::Shape& shape : m_diagram.shapes)
            add(shape);
        m_out += "<g class=\"l\">\n";
        for (const Diagram::Line& line : m_diagram.lines)
            add(line);
        m_out += "</g>\n";
        for (const Diagram::Points& points : m_diagram.points)
            add(points);
        for (const Diagram::Text& text : m_diagram.texts)
            add(text);
        return m_out + "</svg>\n";
    }

private:
    std::string x(double value) const { return number(value - m_diagram.left); }
    std::string y(double value) const { return number(m_diagram.top - value); }
    std::string path(const std::vector<double>& xs, const std::vector<double>& ys) const
    {
        std::string path;
        bool isOpen = false; // a gap starts a new piece
        for (std::size_t i = 0; i < std::min(xs.size(), ys.size()); ++i) {
            const bool isGap = !std::isfinite(xs[i]) || !std::isfinite(ys[i]);
            if (!isGap)
                path += fmt::format("{}{} {}", isOpen ? "L" : "M", x(xs[i]), y(ys[i]));
            isOpen = !isGap;
        }
        return path;
    }

    void add(const Diagram::Polygon& polygon)
    {
        const bool isCell = polygon.x.size() == 4; // smooth edges would show seams between cells
        m_out += fmt::format("<path d=\"{}Z\"{}{}{}>{}</path>\n", path(polygon.x, polygon.y),
                             ink("fill", polygon.colour), opacity(polygon.opacity),
                             isCell ? " shape-rendering=\"crispEdges\"" : "", tip(polygon.label));
    }
    void add(const Diagram::Shape& shape)
    {
        const std::string place =
            shape.kind == "rectangle"
                ? fmt::format("rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
                              x(shape.x - shape.width / 2), y(shape.y + shape.height / 2),
                              number(shape.width), number(shape.height))
                : fmt::format("ellipse cx=\"{}\" cy=\"{}\" rx=\"{}\" ry=\"{}\"", x(shape.x),
                              y(shape.y), number(shape.width / 2), number(shape.height / 2));
        if (shape.isFilled)
            m_out += fmt::format("<{}{} opacity=\"0.35\"/>\n", place, ink("fill", shape.colour));
        m_out += fmt::format("<g class=\"l\"><{}{}/></g>\n", place, ink("stroke", shape.colour));
    }
    void add(const Diagram::Line& line)
    {
        const std::string width =
            line.width == 1 ? "" : fmt::format(" stroke-width=\"{:g}\"", line.width);
        m_out += fmt::format("<path d=\"{}\"{}{}{}>{}</path>\n", path(line.x, line.y),
                             ink("stroke", line.colour), width,
                             line.isDashed ? " stroke-dasharray=\"6 4\"" : "", tip(line.label));
    }
    void add(const Diagram::Points& points)
    {
        const bool isFilled = points.mark == "disc" || points.mark == "diamond";
        m_out += isFilled ? "<g>" : "<g class=\"l\" stroke-width=\"1.6\">";
        m_out += fmt::format("<g{}{}>{}\n", ink(isFilled ? "fill" : "stroke", points.colour),
                             points.opacity < 1
                                 ? fmt::format(" {}-opacity=\"{:.3g}\"",
                                               isFilled ? "fill" : "stroke", points.opacity)
                                 : "",
                             tip(points.label));
        for (std::size_t i = 0; i < std::min(points.x.size(), points.y.size()); ++i)
            if (std::isfinite(points.x[i]) && std::isfinite(points.y[i]))
                m_out += mark(points, points.x[i], points.y[i]);
        m_out += "</g></g>\n";
    }
    std::string mark(const Diagram::Points& points, double atX, double atY) const
    {
        const double r = points.radius;
        if (points.mark == "diamond")
            return fmt::format("<path d=\"M{} {}l{r:g} {r:g}l-{r:g} {r:g}l-{r:g} -{r:g}Z\"/>\n",
                               x(atX), y(atY + r), fmt::arg("r", r));
        if (points.mark == "cross")
            return fmt::format("<path d=\"M{} {}l{d:g} {d:g}m0 -{d:g}l-{d:g} {d:g}\"/>\n",
                               x(atX - r), y(atY + r), fmt::arg("d", 2 * r));
        return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{:g}\"/>\n", x(atX), y(atY), r);
    }
    void add(const Diagram::Text& text)
    {
        const double size = text.size > 0 ? text.size : 12, drop = kTextDrop * size;
        const std::string turn =
            text.isUpright ? fmt::format(" transform=\"rotate(-90 {} {})\"", x(text.x), y(text.y))
                           : "";
        const char* anchor = text.anchor == "left"    ? " text-anchor=\"start\""
                             : text.anchor == "right" ? " text-anchor=\"end\""
                                                      : "";
        m_out += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{:g}\"{}{}{}{}>{}</text>\n",
                             x(text.x), y(text.y - drop), size, anchor, ink("fill", text.colour),
                             text.isBold ? " font-weight=\"600\"" : "", turn, escaped(text.text));
    }

    const Diagram& m_diagram;
    std::string m_out;
};

} // namespace

std::string toSvg(const Diagram& diagram)
{
    return SvgWriter(diagram).write();
}

std::string svgFile(const Diagram& diagram, bool isDark)
{
    const std::string element = toSvg(diagram);
    const std::size_t inside = element.find('>') + 1;
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + element.substr(0, inside) +
           "\n<style>svg{font-family:sans-serif}\n" + svgStyle(isDark) + "</style>\n" +
           fmt::format("<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>",
                       paperInk(isDark).hex()) +
           element.substr(inside);
}

std::string svgStyle(bool isDark)
{
    std::string css = "svg .l{fill:none}\n";
    for (const auto& [name, colour] : inkClasses()) {
        const std::string hex = inkOf(colour, isDark).hex();
        css += fmt::format("svg .{0},td.{0}{{fill:{1};color:{1}}}svg .l .{0},svg .l.{0}{{stroke:"
                           "{1};fill:none}}\n",
                           name, hex);
    }
    return css;
}

std::string escaped(const std::string& text)
{
    std::string result;
    for (const char c : text) {
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        default:
            result += c;
        }
    }
    return result;
}

} // namespace vergence::plot
