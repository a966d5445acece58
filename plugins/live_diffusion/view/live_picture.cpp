#include "plugins/live_diffusion/view/live_picture.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/image_ops.h"
#include "core/artifact/plot/plot.h"
#include "core/artifact/plot/plot_sheet.h"
#include "core/base/error.h"
#include "plugins/live_diffusion/view/picture_sheet.h"

namespace vergence::live {

namespace {

constexpr int kEdge = 12, kGap = 6, kNames = 22;        ///< px: border, between frames, above them
constexpr int kBadge = 20, kBadgeGap = 6, kPadding = 8; ///< height of a badge, between and in them
constexpr double kFace = 12;

void expectsPair(const Image& input, const Image& output, const LiveLook& look)
{
    expects(input.width > 0 && input.height > 0 && input.width == output.width &&
                input.height == output.height,
            "live picture: input and output of one size");
    expects(look.edge >= 96, "live picture: frames of at least 96 px");
    expects(look.wipe >= 0 && look.wipe <= 1, "live picture: the wipe lies between 0 and 1");
    expects(look.gain > 0, "live picture: a gain above 0");
}

/// Column of a wiped picture from which on the output is seen.
int edgeOf(const Image& image, const LiveLook& look)
{
    return static_cast<int>(std::lround(look.wipe * image.width));
}

Image wiped(const Image& input, const Image& output, const LiveLook& look)
{
    Image result = output;
    const auto bytes = static_cast<std::size_t>(edgeOf(input, look)) * 3;
    for (int y = 0; y < input.height; ++y)
        std::copy_n(input.row(y), bytes, result.row(y));
    return result;
}

Image difference(const Image& input, const Image& output, double gain)
{
    Image result = output;
    for (std::size_t i = 0; i < result.pixels.size(); ++i)
        result.pixels[i] = static_cast<std::uint8_t>(std::lround(
            std::min(255.0, gain * std::abs(int(output.pixels[i]) - int(input.pixels[i])))));
    return result;
}

struct Chip {
    std::string text;
    bool isWarning;
    double left, top, width;
};

/// Badges in lines that are not wider than the picture.
std::vector<Chip> chips(std::span<const Badge> badges, double left, double right, double top)
{
    std::vector<Chip> placed;
    double x = left, y = top;
    for (const Badge& badge : badges) {
        const double width =
            std::min(right - left, plot::textLength(badge.text, kFace) + 2 * kPadding);
        if (x > left && x + width > right) {
            x = left;
            y += kBadge + kBadgeGap;
        }
        placed.push_back({plot::shortened(badge.text, right - left - 2 * kPadding), badge.isWarning,
                          x, y, width});
        x += width + kBadgeGap;
    }
    return placed;
}

/// One frame on the sheet with its name above.
struct Pane {
    std::string name;
    Image image;
};

std::vector<Pane> panesOf(const Image& input, const Image& output, const LiveLook& look)
{
    const Image in = toRgb(input), out = toRgb(output);
    switch (look.mode) {
    case LiveMode::Wipe:
        return {{"", wiped(in, out, look)}};
    case LiveMode::Difference:
        return {{fmt::format("difference × {:g}", look.gain), difference(in, out, look.gain)}};
    case LiveMode::SideBySide:
        break;
    }
    return {{"input", in}, {"output", out}};
}

} // namespace

Image livePicture(const Image& input, const Image& output, std::span<const Badge> badges,
                  const LiveLook& look)
{
    expectsPair(input, output, look);
    const std::vector<Pane> panes = panesOf(input, output, look);
    const int tall = PictureSheet::heightFor(look.edge, input);
    const int width = 2 * kEdge + static_cast<int>(panes.size()) * (look.edge + kGap) - kGap;
    const int below = kEdge + kNames + tall + kGap;
    const std::vector<Chip> placed = chips(badges, kEdge, width - kEdge, below + 2);
    const int height = placed.empty() ? below - kGap + kEdge
                                      : static_cast<int>(placed.back().top) + kBadge + kEdge;
    PictureSheet sheet(width, height, look.isDark);
    const double nameY = kEdge + kNames / 2.0 - 3;
    int left = kEdge;
    for (const Pane& pane : panes) {
        sheet.picture(left, kEdge + kNames, look.edge, pane.image);
        sheet.text(left, nameY, pane.name, 13, "muted");
        left += look.edge + kGap;
    }
    if (look.mode == LiveMode::Wipe) {
        const double edge = kEdge + double(edgeOf(input, look)) / input.width * look.edge;
        sheet.text(kEdge, nameY, "input", 13, "muted");
        sheet.text(width - kEdge, nameY, "output", 13, "muted", "right");
        sheet.area(edge - 1, kEdge + kNames, edge + 1, kEdge + kNames + tall, "accent", 1);
    }
    for (const Chip& chip : placed) {
        const bool isWarning = chip.isWarning;
        sheet.area(chip.left, chip.top, chip.left + chip.width, chip.top + kBadge,
                   isWarning ? "warning" : "faint", isWarning ? 0.25 : 1);
        sheet.text(chip.left + chip.width / 2, chip.top + kBadge / 2.0, chip.text, kFace,
                   isWarning ? "warning" : "text", "centre", isWarning);
    }
    return std::move(sheet).take();
}

Image plainPicture(const Image& input, const Image& output, const LiveLook& look)
{
    expectsPair(input, output, look);
    std::vector<Pane> panes = panesOf(input, output, look);
    const int tall = PictureSheet::heightFor(look.edge, input);
    Image film = makeImage(look.edge * static_cast<int>(panes.size()), tall, 3);
    for (std::size_t i = 0; i < panes.size(); ++i)
        paste(film, resized(panes[i].image, look.edge, tall), static_cast<int>(i) * look.edge, 0);
    return film;
}

} // namespace vergence::live
