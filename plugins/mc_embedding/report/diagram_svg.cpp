#include "plugins/mc_embedding/report/diagram_svg.h"

#include <cmath>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/diagram_style.h"

namespace vergence::mc_embedding {

namespace {

/// Writes the elements of one drawing; y grows downwards in SVG.
class SvgWriter {
public:
    explicit SvgWriter(const Diagram& diagram) : m_diagram(diagram) {}

    std::string write()
    {
        const double width = m_diagram.right - m_diagram.left,
                     height = m_diagram.top - m_diagram.bottom;
        m_out = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" "
            "width=\"{0:g}\" height=\"{1:g}\" font-family=\"system-ui, 'DejaVu Sans', Arial, "
            "sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            width, height);
        for (const Diagram::Polygon& polygon : m_diagram.polygons)
            add(polygon);
        for (const Diagram::Shape& shape : m_diagram.shapes)
            add(shape);
        for (const Diagram::Line& line : m_diagram.lines)
            add(line);
        for (const Diagram::Points& points : m_diagram.points)
            add(points);
        for (const Diagram::Text& text : m_diagram.texts)
            add(text);
        return m_out + "</svg>\n";
    }

private:
    double x(double value) const { return value - m_diagram.left; }
    double y(double value) const { return m_diagram.top - value; }
    std::string path(const std::vector<double>& xs, const std::vector<double>& ys) const
    {
        std::string path;
        bool isOpen = false; // a gap starts a new piece
        for (std::size_t i = 0; i < std::min(xs.size(), ys.size()); ++i) {
            const bool isGap = !std::isfinite(xs[i]) || !std::isfinite(ys[i]);
            if (!isGap)
                path += fmt::format("{}{:.2f} {:.2f}", isOpen ? "L" : "M", x(xs[i]), y(ys[i]));
            isOpen = !isGap;
        }
        return path;
    }
    static std::string tip(const std::string& label)
    {
        return label.empty() ? "" : "<title>" + escaped(label) + "</title>";
    }
    static std::string opacity(const char* of, double value)
    {
        return value >= 1 ? "" : fmt::format(" {}=\"{:.3g}\"", of, value);
    }

    void add(const Diagram::Polygon& polygon)
    {
        const bool isCell = polygon.x.size() == 4; // smooth edges would show seams between cells
        m_out +=
            fmt::format("<path d=\"{}Z\" fill=\"{}\"{}{}>{}</path>\n", path(polygon.x, polygon.y),
                        inkOf(polygon.colour).hex(), opacity("fill-opacity", polygon.opacity),
                        isCell ? " shape-rendering=\"crispEdges\"" : "", tip(polygon.label));
    }
    void add(const Diagram::Shape& shape)
    {
        const std::string fill = shape.isFilled ? inkOf(shape.colour).hex() : "none";
        const bool isBox = shape.kind == "rectangle";
        const std::string place =
            isBox ? fmt::format("rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"",
                                x(shape.x - shape.width / 2), y(shape.y + shape.height / 2),
                                shape.width, shape.height)
                  : fmt::format("ellipse cx=\"{:.2f}\" cy=\"{:.2f}\" rx=\"{:.2f}\" ry=\"{:.2f}\"",
                                x(shape.x), y(shape.y), shape.width / 2, shape.height / 2);
        m_out += fmt::format("<{} fill=\"{}\" fill-opacity=\"0.35\" stroke=\"{}\"/>\n", place, fill,
                             inkOf(shape.colour).hex());
    }
    void add(const Diagram::Line& line)
    {
        m_out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"{} "
                             "stroke-linejoin=\"round\">{}</path>\n",
                             path(line.x, line.y), inkOf(line.colour).hex(), line.width,
                             line.isDashed ? " stroke-dasharray=\"6 4\"" : "", tip(line.label));
    }
    void add(const Diagram::Points& points)
    {
        const std::string ink = inkOf(points.colour).hex();
        const double r = points.radius;
        const bool isFilled = points.mark == "disc" || points.mark == "diamond";
        m_out += fmt::format(
            "<g {}>{}\n",
            isFilled ? fmt::format("fill=\"{}\"{}", ink, opacity("fill-opacity", points.opacity))
                     : fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}", ink,
                                   opacity("stroke-opacity", points.opacity)),
            tip(points.label));
        for (std::size_t i = 0; i < std::min(points.x.size(), points.y.size()); ++i) {
            const double at = x(points.x[i]), down = y(points.y[i]);
            if (points.mark == "diamond")
                m_out += fmt::format("<path d=\"M{:.2f} {:.2f}l{r:g} {r:g}l-{r:g} {r:g}l-{r:g} "
                                     "-{r:g}Z\"/>\n",
                                     at, down - r, fmt::arg("r", r));
            else if (points.mark == "cross")
                m_out +=
                    fmt::format("<path d=\"M{:.2f} {:.2f}l{d:g} {d:g}m0 -{d:g}l-{d:g} {d:g}\"/>\n",
                                at - r, down - r, fmt::arg("d", 2 * r));
            else
                m_out +=
                    fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\"/>\n", at, down, r);
        }
        m_out += "</g>\n";
    }
    void add(const Diagram::Text& text)
    {
        const double size = text.size > 0 ? text.size : 12, at = x(text.x), down = y(text.y);
        const char* anchor = text.anchor == "left"    ? "start"
                             : text.anchor == "right" ? "end"
                                                      : "middle";
        const std::string turn =
            text.isUpright ? fmt::format(" transform=\"rotate(-90 {:.2f} {:.2f})\"", at, down) : "";
        m_out += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" dy=\"0.35em\" font-size=\"{:g}\" "
                             "text-anchor=\"{}\" fill=\"{}\"{}{}>{}</text>\n",
                             at, down, size, anchor, inkOf(text.colour).hex(),
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

} // namespace vergence::mc_embedding
