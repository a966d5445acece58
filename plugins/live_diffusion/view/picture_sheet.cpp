#include "plugins/live_diffusion/view/picture_sheet.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/artifact/image_ops.h"
#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/diagram_style.h"
#include "core/artifact/plot/plot_sheet.h"
#include "core/base/error.h"

namespace vergence::live {

PictureSheet::PictureSheet(int width, int height, bool isDark)
    : m_image(makeImage(width, height, 4, 255)),
      m_drawing(plot::sheet(width, height)),
      m_isDark(isDark)
{
    const plot::Ink paper = plot::paperInk(isDark);
    for (std::size_t i = 0; i < m_image.pixels.size(); ++i)
        if (i % 4 < 3)
            m_image.pixels[i] = paper.rgb[i % 4];
}

int PictureSheet::heightFor(int edge, const Image& image)
{
    if (image.width <= 0 || image.height <= 0)
        return edge;
    return std::max(1, static_cast<int>(std::lround(double(edge) * image.height / image.width)));
}

void PictureSheet::picture(int left, int top, int edge, const Image& image)
{
    expects(edge > 0, "picture: a width of at least 1 px");
    if (image.width <= 0 || image.height <= 0) {
        const double right = left + edge, bottom = top + edge;
        area(left, top, right, bottom, "faint", 1);
        text((left + right) / 2, (top + bottom) / 2, "–", 14, "muted", "centre");
        return;
    }
    expects(image.channels >= 3, "picture: RGB or RGBA");
    const Image fitted = resized(image, edge, heightFor(edge, image));
    const auto channels = static_cast<std::size_t>(fitted.channels);
    for (int y = std::max(0, -top); y < std::min(fitted.height, m_image.height - top); ++y)
        for (int x = std::max(0, -left); x < std::min(fitted.width, m_image.width - left); ++x)
            std::copy_n(fitted.row(y) + channels * static_cast<std::size_t>(x), 3,
                        m_image.row(top + y) + 4 * static_cast<std::size_t>(left + x));
}

void PictureSheet::text(double x, double y, const std::string& text, double size,
                        const std::string& colour, const std::string& anchor, bool isBold)
{
    Diagram::Text label = plot::label(x, m_drawing.top - y, text, size, colour, anchor);
    label.isBold = isBold;
    m_drawing.texts.push_back(std::move(label));
}

void PictureSheet::area(double left, double top, double right, double bottom,
                        const std::string& colour, double opacity)
{
    m_drawing.polygons.push_back(plot::rectangle(left, m_drawing.top - bottom, right,
                                                 m_drawing.top - top, colour, opacity, ""));
}

Image PictureSheet::take() &&
{
    plot::paintOver(m_image, m_drawing, 1, m_isDark);
    return std::move(m_image);
}

namespace {

/// Where the pixels of a row of `to` begin in one of `from`.
std::vector<int> edgesOf(int from, int to)
{
    std::vector<int> edges;
    for (int i = 0; i <= to; ++i)
        edges.push_back(static_cast<int>(static_cast<std::int64_t>(i) * from / to));
    return edges;
}

/// Mean over the pixels [x0, x1) × [y0, y1).
std::uint8_t areaMean(const Image& image, int x0, int x1, int y0, int y1, int channel)
{
    unsigned sum = 0;
    for (int y = y0; y < y1; ++y)
        for (int x = x0; x < x1; ++x)
            sum += image.row(y)[x * image.channels + channel];
    const auto count = static_cast<unsigned>((x1 - x0) * (y1 - y0));
    return static_cast<std::uint8_t>((sum + count / 2) / count);
}

} // namespace

Image resized(const Image& image, int width, int height)
{
    expects(width > 0 && height > 0 && image.width > 0 && image.height > 0,
            "resized: pictures of at least one pixel");
    Image result = makeImage(width, height, image.channels);
    const std::vector<int> columns = edgesOf(image.width, width),
                           rows = edgesOf(image.height, height);
    for (int y = 0; y < height; ++y) {
        const auto v = static_cast<std::size_t>(y);
        const int y0 = rows[v], y1 = std::max(y0 + 1, rows[v + 1]);
        std::uint8_t* to = result.row(y);
        for (int x = 0; x < width; ++x, to += image.channels) {
            const auto u = static_cast<std::size_t>(x);
            const int x0 = columns[u], x1 = std::max(x0 + 1, columns[u + 1]);
            if (x1 == x0 + 1 && y1 == y0 + 1) {
                std::copy_n(image.row(y0) + x0 * image.channels, image.channels, to);
                continue;
            }
            for (int c = 0; c < image.channels; ++c)
                to[c] = areaMean(image, x0, x1, y0, y1, c);
        }
    }
    return result;
}

} // namespace vergence::live
