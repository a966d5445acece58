#include "core/artifact/plot/diagram_image.h"

#include <algorithm>
#include <cmath>

#include "core/artifact/plot/diagram_style.h"
#include "core/artifact/plot/stroke_face.h"
#include "core/base/error.h"

namespace vergence::plot {

namespace {

using Path = StrokedText::Stroke; ///< points in pixels, y down

/// How much of each pixel a figure covers; blended once, so that overlapping parts do not darken.
class Mask {
public:
    Mask(int width, int height) : m_width(width), m_height(height)
    {
        m_cover.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0.0F);
        clearBounds();
    }

    /// Round-ended segment of a pen.
    void stroke(double x0, double y0, double x1, double y1, double penWidth)
    {
        const double r = penWidth / 2;
        const int left = std::max(0, static_cast<int>(std::floor(std::min(x0, x1) - r - 1))),
                  right =
                      std::min(m_width - 1, static_cast<int>(std::ceil(std::max(x0, x1) + r + 1))),
                  top = std::max(0, static_cast<int>(std::floor(std::min(y0, y1) - r - 1))),
                  bottom =
                      std::min(m_height - 1, static_cast<int>(std::ceil(std::max(y0, y1) + r + 1)));
        const double dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
        for (int y = top; y <= bottom; ++y) {
            for (int x = left; x <= right; ++x) {
                const double px = x + 0.5 - x0, py = y + 0.5 - y0;
                const double t =
                    square > 0 ? std::clamp((px * dx + py * dy) / square, 0.0, 1.0) : 0;
                cover(x, y, 0.5 + r - std::hypot(px - t * dx, py - t * dy));
            }
        }
    }
    void disc(double x, double y, double radius) { stroke(x, y, x, y, 2 * radius); }

    /// Even-odd filling: exact across, four lines down a pixel.
    void fill(const Path& path)
    {
        if (path.x.size() < 3)
            return;
        const auto [low, high] = std::ranges::minmax(path.y);
        constexpr int kLines = 4;
        const int first = std::max(0, static_cast<int>(std::floor(low))),
                  last = std::min(m_height - 1, static_cast<int>(std::ceil(high)));
        std::vector<float> row(static_cast<std::size_t>(m_width));
        for (int y = first; y <= last; ++y) {
            std::ranges::fill(row, 0.0F);
            for (int k = 0; k < kLines; ++k)
                addSpans(path, y + (k + 0.5) / kLines, row, 1.0F / kLines);
            for (int x = 0; x < m_width; ++x)
                if (row[static_cast<std::size_t>(x)] > 0)
                    cover(x, y, row[static_cast<std::size_t>(x)]);
        }
    }

    /// Blends and forgets.
    void blend(Image& image, const Ink& ink, double opacity)
    {
        for (int y = m_top; y <= m_bottom; ++y) {
            for (int x = m_left; x <= m_right; ++x) {
                float& share = at(x, y);
                if (share <= 0)
                    continue;
                const double weight = share * opacity;
                std::uint8_t* pixel = image.row(y) + static_cast<std::size_t>(image.channels) *
                                                         static_cast<std::size_t>(x);
                for (std::size_t c = 0; c < 3; ++c)
                    pixel[c] = static_cast<std::uint8_t>(
                        std::lround(pixel[c] + weight * (ink.rgb[c] - pixel[c])));
                share = 0;
            }
        }
        clearBounds();
    }

private:
    float& at(int x, int y)
    {
        return m_cover[static_cast<std::size_t>(y) * static_cast<std::size_t>(m_width) +
                       static_cast<std::size_t>(x)];
    }
    void clearBounds()
    {
        m_left = m_width, m_top = m_height;
        m_right = m_bottom = -1;
    }
    void cover(int x, int y, double share)
    {
        if (share <= 0)
            return;
        at(x, y) = std::max(at(x, y), static_cast<float>(std::min(share, 1.0)));
        m_left = std::min(m_left, x), m_right = std::max(m_right, x);
        m_top = std::min(m_top, y), m_bottom = std::max(m_bottom, y);
    }
    void addSpans(const Path& path, double y, std::vector<float>& row, float weight) const
    {
        std::vector<double> crossings;
        for (std::size_t i = 0, j = path.x.size() - 1; i < path.x.size(); j = i++) {
            if ((path.y[i] > y) != (path.y[j] > y))
                crossings.push_back(path.x[i] + (y - path.y[i]) / (path.y[j] - path.y[i]) *
                                                    (path.x[j] - path.x[i]));
        }
        std::ranges::sort(crossings);
        for (std::size_t k = 0; k + 1 < crossings.size(); k += 2) {
            const double from = std::clamp(crossings[k], 0.0, static_cast<double>(m_width)),
                         to = std::clamp(crossings[k + 1], 0.0, static_cast<double>(m_width));
            for (int x = static_cast<int>(from); x < m_width && x < to; ++x)
                row[static_cast<std::size_t>(x)] +=
                    weight * static_cast<float>(std::min(to, x + 1.0) -
                                                std::max(from, static_cast<double>(x)));
        }
    }

    int m_width, m_height;
    int m_left = 0, m_right = -1, m_top = 0, m_bottom = -1; ///< where something is covered
    std::vector<float> m_cover;
};

/// Draws one diagram.
class Painter {
public:
    Painter(const Diagram& diagram, double scale, Image& image, bool isDark)
        : m_diagram(diagram),
          m_scale(scale),
          m_isDark(isDark),
          m_image(image),
          m_mask(image.width, image.height)
    {
    }

    void paint()
    {
        for (const Diagram::Polygon& polygon : m_diagram.polygons) {
            m_mask.fill(path(polygon.x, polygon.y));
            m_mask.blend(m_image, inkOf(polygon.colour, m_isDark), polygon.opacity);
        }
        for (const Diagram::Shape& shape : m_diagram.shapes)
            paint(shape);
        for (const Diagram::Line& line : m_diagram.lines) {
            strokes(path(line.x, line.y), line.width * m_scale, line.isDashed);
            m_mask.blend(m_image, inkOf(line.colour, m_isDark), 1);
        }
        for (const Diagram::Points& points : m_diagram.points)
            paint(points);
        for (const Diagram::Text& text : m_diagram.texts)
            paint(text);
    }

private:
    Path path(const std::vector<double>& x, const std::vector<double>& y) const
    {
        Path path;
        for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
            path.x.push_back((x[i] - m_diagram.left) * m_scale);
            path.y.push_back((m_diagram.top - y[i]) * m_scale);
        }
        return path;
    }
    void strokes(const Path& path, double width, bool isDashed)
    {
        const double dash = 6 * m_scale, gap = 4 * m_scale;
        double travelled = 0;
        for (std::size_t i = 1; i < path.x.size(); ++i) {
            const double x0 = path.x[i - 1], y0 = path.y[i - 1], dx = path.x[i] - x0,
                         dy = path.y[i] - y0, length = std::hypot(dx, dy);
            if (!std::isfinite(length))
                continue;
            if (!isDashed) {
                m_mask.stroke(x0, y0, x0 + dx, y0 + dy, width);
                continue;
            }
            for (double from = 0; from < length;) {
                const double phase = std::fmod(travelled + from, dash + gap);
                const double to = std::min(
                    length, from + std::max(1e-6, (phase < dash ? dash : dash + gap) - phase));
                if (phase < dash)
                    m_mask.stroke(x0 + dx * from / length, y0 + dy * from / length,
                                  x0 + dx * to / length, y0 + dy * to / length, width);
                from = to;
            }
            travelled += length;
        }
    }
    void paint(const Diagram::Shape& shape)
    {
        Path outline;
        const int corners = shape.kind == "rectangle" ? 4 : 64;
        for (int i = 0; i < corners; ++i) {
            const double angle = 2 * M_PI * (i + 0.5) / corners;
            const double grow = corners == 4 ? M_SQRT2 : 1;
            outline.x.push_back(shape.x + shape.width / 2 * grow * std::cos(angle));
            outline.y.push_back(shape.y + shape.height / 2 * grow * std::sin(angle));
        }
        outline.x.push_back(outline.x.front());
        outline.y.push_back(outline.y.front());
        const Path placed = path(outline.x, outline.y);
        if (shape.isFilled) {
            m_mask.fill(placed);
            m_mask.blend(m_image, inkOf(shape.colour, m_isDark), 0.35);
        }
        strokes(placed, 1.2 * m_scale, false);
        m_mask.blend(m_image, inkOf(shape.colour, m_isDark), 1);
    }
    void paint(const Diagram::Points& points)
    {
        const Path at = path(points.x, points.y);
        const double r = points.radius * m_scale, pen = 1.6 * m_scale;
        for (std::size_t i = 0; i < at.x.size(); ++i) {
            const double x = at.x[i], y = at.y[i];
            if (!std::isfinite(x) || !std::isfinite(y))
                continue;
            if (points.mark == "diamond") {
                m_mask.fill({{x, x + r, x, x - r}, {y - r, y, y + r, y}});
            } else if (points.mark == "cross") {
                m_mask.stroke(x - r, y - r, x + r, y + r, pen);
                m_mask.stroke(x - r, y + r, x + r, y - r, pen);
            } else if (points.mark == "ring") {
                for (int k = 0; k < 24; ++k)
                    m_mask.stroke(x + r * std::cos(k * M_PI / 12), y + r * std::sin(k * M_PI / 12),
                                  x + r * std::cos((k + 1) * M_PI / 12),
                                  y + r * std::sin((k + 1) * M_PI / 12), pen);
            } else {
                m_mask.disc(x, y, r);
            }
            m_mask.blend(m_image, inkOf(points.colour, m_isDark), points.opacity);
        }
    }
    void paint(const Diagram::Text& text)
    {
        const double size = (text.size > 0 ? text.size : 12) * m_scale;
        const StrokedText strokes = strokedText(text.text, size);
        const double shift = text.anchor == "left"    ? 0
                             : text.anchor == "right" ? strokes.width
                                                      : strokes.width / 2;
        const double x = (text.x - m_diagram.left) * m_scale,
                     y = (m_diagram.top - text.y) * m_scale, middle = 0.36 * size;
        const double pen = size * (text.isBold ? 0.125 : 0.085);
        for (const StrokedText::Stroke& stroke : strokes.strokes) {
            Path placed;
            for (std::size_t i = 0; i < stroke.x.size(); ++i) {
                const double along = stroke.x[i] - shift, up = stroke.y[i] - middle;
                placed.x.push_back(text.isUpright ? x - up : x + along);
                placed.y.push_back(text.isUpright ? y - along : y - up);
            }
            if (placed.x.size() == 1)
                m_mask.disc(placed.x[0], placed.y[0], pen * 0.62);
            for (std::size_t i = 1; i < placed.x.size(); ++i)
                m_mask.stroke(placed.x[i - 1], placed.y[i - 1], placed.x[i], placed.y[i], pen);
        }
        m_mask.blend(m_image, inkOf(text.colour, m_isDark), 1);
    }

    const Diagram& m_diagram;
    double m_scale;
    bool m_isDark;
    Image& m_image;
    Mask m_mask;
};

} // namespace

void paintOver(Image& image, const Diagram& diagram, double scale, bool isDark)
{
    expects(scale > 0, "paintOver: scale is above 0");
    expects(image.channels == 3 || image.channels == 4, "paintOver: RGB or RGBA");
    Painter(diagram, scale, image, isDark).paint();
}

Image toImage(const Diagram& diagram, double scale, bool isDark)
{
    expects(scale > 0, "toImage: scale is above 0");
    Image image =
        makeImage(static_cast<int>(std::lround((diagram.right - diagram.left) * scale)),
                  static_cast<int>(std::lround((diagram.top - diagram.bottom) * scale)), 3, 255);
    if (isDark) {
        const Ink paper = paperInk(true);
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            image.pixels[i] = paper.rgb[i % 3];
    }
    paintOver(image, diagram, scale, isDark);
    return image;
}

} // namespace vergence::plot
