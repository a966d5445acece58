#include "plugins/foveated_vlm/view/picture_sheet.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/plot/diagram_image.h"
#include "core/artifact/plot/diagram_style.h"
#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_sheet.h"
#include "core/artifact/plot/stroke_face.h"
#include "core/base/error.h"

namespace vergence::fvlm {

namespace {

/// Mean of the pixels of a plane between two places, in px; one pixel where frames are enlarged.
float areaMean(const std::uint8_t* plane, int height, int width, double x0, double x1, double y0,
               double y1)
{
    const int left = static_cast<int>(x0), top = static_cast<int>(y0);
    const int right = std::clamp(static_cast<int>(std::ceil(x1 - 1e-9)), left + 1, width);
    const int bottom = std::clamp(static_cast<int>(std::ceil(y1 - 1e-9)), top + 1, height);
    double sum = 0;
    for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x)
            sum += plane[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                         static_cast<std::size_t>(x)];
    return static_cast<float>(sum / ((right - left) * (bottom - top)));
}

} // namespace

PictureSheet::PictureSheet(int width, int height, bool isDark)
    : m_image(makeImage(width, height, 4, 255)),
      m_texts(plot::sheet(width, height)),
      m_isDark(isDark)
{
    const plot::Ink paper = plot::paperInk(isDark);
    for (std::size_t i = 0; i < m_image.pixels.size(); ++i)
        if (i % 4 < 3)
            m_image.pixels[i] = paper.rgb[i % 4];
}

int PictureSheet::heightFor(int edge, int height, int width)
{
    return std::max(1, static_cast<int>(std::lround(double(edge) * height / width)));
}

void PictureSheet::frame(int left, int top, int edge, std::span<const std::uint8_t> pixels,
                         int height, int width, const Overlay& overlay)
{
    const std::size_t area = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    expects(pixels.size() == 3 * area, "picture: a frame of three planes");
    const int tall = heightFor(edge, height, width);
    const double stepX = double(width) / edge, stepY = double(height) / tall;
    for (int row = 0; row < tall; ++row)
        for (int column = 0; column < edge; ++column) {
            const double x = column * stepX, y = row * stepY;
            std::array<float, 3> rgb{};
            for (std::size_t c = 0; c < 3; ++c)
                rgb[c] = areaMean(pixels.data() + c * area, height, width, x,
                                  stepX > 1 ? x + stepX : x, y, stepY > 1 ? y + stepY : y);
            if (overlay)
                overlay(x + stepX / 2, y + stepY / 2, rgb);
            std::uint8_t* pixel =
                m_image.row(top + row) + 4 * static_cast<std::size_t>(left + column);
            for (std::size_t c = 0; c < 3; ++c)
                pixel[c] = static_cast<std::uint8_t>(std::clamp(rgb[c] + 0.5F, 0.0F, 255.0F));
        }
}

void PictureSheet::bar(int left, int top, int width, int height,
                       const std::function<std::array<std::uint8_t, 3>(double)>& colour)
{
    for (int row = 0; row < height; ++row) {
        const auto rgb = colour(1 - (row + 0.5) / height);
        for (int column = 0; column < width; ++column)
            std::copy(rgb.begin(), rgb.end(),
                      m_image.row(top + row) + 4 * static_cast<std::size_t>(left + column));
    }
}

void PictureSheet::outline(int left, int top, int right, int bottom)
{
    constexpr int kWidth = 2;
    for (int y = std::max(0, top); y < std::min(bottom, m_image.height); ++y)
        for (int x = std::max(0, left); x < std::min(right, m_image.width); ++x) {
            const int depth = std::min({x - left, right - 1 - x, y - top, bottom - 1 - y});
            if (depth >= 2 * kWidth)
                continue;
            std::uint8_t* pixel = m_image.row(y) + 4 * static_cast<std::size_t>(x);
            std::fill_n(pixel, 3, std::uint8_t(depth < kWidth ? 0 : 255));
        }
}

void PictureSheet::text(double x, double y, const std::string& text, double size,
                        const std::string& colour, const std::string& anchor, bool isBold)
{
    Diagram::Text label = plot::label(x, m_texts.top - y, text, size, colour, anchor);
    label.isBold = isBold;
    m_texts.texts.push_back(std::move(label));
}

Image PictureSheet::take() &&
{
    plot::paintOver(m_image, m_texts, 1, m_isDark);
    return std::move(m_image);
}

std::string clipName(std::uint64_t id)
{
    constexpr std::uint64_t kHeldOut = std::uint64_t(1) << 32;
    return id >= kHeldOut ? fmt::format("v{}", id - kHeldOut) : std::to_string(id);
}

std::string frameName(const std::vector<float>& timestamps, std::size_t frame)
{
    return frame < timestamps.size() ? fmt::format("{:.2f} s", timestamps[frame])
                                     : fmt::format("frame {}", frame + 1);
}

std::vector<std::string> fittedLines(const std::string& text, double size, double width,
                                     std::size_t most)
{
    expects(most > 0, "picture: at least one line");
    const auto length = [size](const std::string& line) {
        return std::max(plot::textLength(line, size), plot::strokedText(line, size).width);
    };
    std::vector<std::string> lines = plot::wrapped(text, size, width);
    const bool isCut = lines.size() > most;
    lines.resize(std::min(lines.size(), most));
    if (isCut)
        lines.back() += " …";
    for (std::string& line : lines) { // a word longer than the line is cut
        const bool isLong = length(line) > width;
        while (!line.empty() && length(line + "…") > width && isLong) {
            while ((static_cast<unsigned char>(line.back()) & 0xC0) == 0x80)
                line.pop_back(); // the rest of a letter
            line.pop_back();
        }
        line += isLong ? "…" : "";
    }
    return lines;
}

std::vector<std::size_t> shownFrames(std::size_t count, int most)
{
    expects(most > 0, "picture: at least one frame");
    const std::size_t shown = std::min(count, static_cast<std::size_t>(most));
    std::vector<std::size_t> frames;
    for (std::size_t i = 0; i < shown; ++i)
        frames.push_back(shown == 1 ? 0 : (i * (count - 1) + (shown - 1) / 2) / (shown - 1));
    return frames;
}

Image withoutAlpha(const Image& image)
{
    expects(image.channels == 4, "picture: RGBA");
    Image rgb = makeImage(image.width, image.height, 3);
    for (std::size_t i = 0; i < rgb.pixels.size(); ++i)
        rgb.pixels[i] = image.pixels[i / 3 * 4 + i % 3];
    return rgb;
}

} // namespace vergence::fvlm
