#include "plugins/foveated_vlm/view/gaze_picture.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

namespace {

constexpr int kEdge = 12, kGap = 4, kCaption = 16;   ///< px: border, between frames, below a frame
constexpr int kNames = 78, kBar = 10, kBarRoom = 76; ///< left of the rows; bar with its numbers
constexpr double kFace = 12;

/// A map of one frame as a function of places in the frame.
class MapView {
public:
    MapView(const float* values, const GazeMaps& maps, int patch)
        : m_values(values),
          m_rows(static_cast<int>(maps.rows)),
          m_columns(static_cast<int>(maps.columns)),
          m_patch(patch)
    {
    }
    bool covers(double x, double y) const
    {
        return x < m_columns * m_patch && y < m_rows * m_patch;
    }
    /// Bilinear between the middles of the patches, constant beyond the outermost.
    double operator()(double x, double y) const
    {
        const double u = std::clamp(x / m_patch - 0.5, 0.0, m_columns - 1.0);
        const double v = std::clamp(y / m_patch - 0.5, 0.0, m_rows - 1.0);
        const int column = std::min(static_cast<int>(u), std::max(0, m_columns - 2));
        const int row = std::min(static_cast<int>(v), std::max(0, m_rows - 2));
        const int right = std::min(column + 1, m_columns - 1),
                  below = std::min(row + 1, m_rows - 1);
        const double s = u - column, t = v - row;
        return (1 - t) * ((1 - s) * at(row, column) + s * at(row, right)) +
               t * ((1 - s) * at(below, column) + s * at(below, right));
    }

private:
    double at(int row, int column) const { return m_values[row * m_columns + column]; }

    const float* m_values;
    int m_rows, m_columns, m_patch;
};

/// Mixes the colour of the map into a pixel.
template <class Colour>
void tint(std::array<float, 3>& rgb, const MapView& view, double x, double y, double opacity,
          const Colour& colour)
{
    if (!view.covers(x, y))
        return;
    const auto tinted = colour(view(x, y));
    for (std::size_t c = 0; c < 3; ++c)
        rgb[c] += static_cast<float>(opacity) * (static_cast<float>(tinted[c]) - rgb[c]);
}

/// One row of the picture below the originals.
struct MapRow {
    std::string name;
    GazeMaps maps;
    bool isDifference = false;
    std::vector<double> scales; ///< [frames] value that gets the end of the colours

    MapRow(std::string title, GazeMaps content, bool difference, bool perFrame)
        : name(std::move(title)),
          maps(std::move(content)),
          isDifference(difference)
    {
        const std::size_t area = static_cast<std::size_t>(maps.rows * maps.columns);
        for (std::size_t t = 0; t < static_cast<std::size_t>(maps.frames); ++t) {
            double greatest = 0;
            for (std::size_t i = 0; i < area; ++i)
                greatest = std::max(greatest, std::abs(double(maps.values[t * area + i])));
            scales.push_back(greatest);
        }
        if (!perFrame)
            std::ranges::fill(scales, std::ranges::max(scales));
    }
    std::array<std::uint8_t, 3> colour(double share) const
    {
        return isDifference ? differenceColour(share) : gazeColour(share);
    }
    PictureSheet::Overlay overlay(std::size_t frame, int patch, double opacity) const
    {
        const MapView view(maps.values.data() +
                               frame * static_cast<std::size_t>(maps.rows * maps.columns),
                           maps, patch);
        const double scale = scales[frame] > 0 ? scales[frame] : 1;
        return [this, view, scale, opacity](double x, double y, std::array<float, 3>& rgb) {
            tint(rgb, view, x, y, opacity, [&](double value) { return colour(value / scale); });
        };
    }
};

void expectsScene(const GazeScene& scene)
{
    expects(scene.height > 0 && scene.width > 0 && scene.patch > 0, "gaze: frames with an extent");
    const auto frames =
        scene.frames.size() / (std::size_t(3) * static_cast<std::size_t>(scene.height) *
                               static_cast<std::size_t>(scene.width));
    for (const GazeMaps* maps : {&scene.coarse, &scene.fine})
        expects(frames > 0 && static_cast<std::size_t>(maps->frames) == frames &&
                    maps->values.size() ==
                        static_cast<std::size_t>(maps->frames * maps->rows * maps->columns) &&
                    maps->removed.size() == frames && maps->rows == scene.fine.rows &&
                    maps->columns == scene.fine.columns &&
                    maps->columns * scene.patch <= scene.width &&
                    maps->rows * scene.patch <= scene.height,
                "gaze: maps of all frames on one grid within them");
}

std::vector<MapRow> mapRows(const GazeScene& scene, bool perFrame)
{
    GazeMaps difference = scene.fine;
    for (std::size_t i = 0; i < difference.values.size(); ++i)
        difference.values[i] -= scene.coarse.values[i];
    std::vector<MapRow> rows;
    rows.emplace_back("coarse", scene.coarse, false, perFrame);
    rows.emplace_back("fine", scene.fine, false, perFrame);
    rows.emplace_back("difference", std::move(difference), true, perFrame);
    return rows;
}

std::span<const std::uint8_t> frameOf(const GazeScene& scene, std::size_t frame)
{
    const std::size_t size = std::size_t(3) * static_cast<std::size_t>(scene.height) *
                             static_cast<std::size_t>(scene.width);
    return std::span(scene.frames).subspan(frame * size, size);
}

/// "4.2 %": a share of all weight.
std::string percent(double share)
{
    return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0);
}

} // namespace

std::array<std::uint8_t, 3> gazeColour(double share)
{
    // Seven anchors of inferno (Smith, van der Walt, 2015), linear in between.
    static constexpr std::array<std::array<double, 3>, 7> kAnchors{{{0, 0, 4},
                                                                    {51, 10, 94},
                                                                    {120, 28, 109},
                                                                    {187, 55, 84},
                                                                    {237, 105, 37},
                                                                    {252, 181, 25},
                                                                    {252, 255, 164}}};
    const double at = std::clamp(share, 0.0, 1.0) * 6;
    const auto low = std::min<std::size_t>(5, static_cast<std::size_t>(at));
    std::array<std::uint8_t, 3> rgb{};
    for (std::size_t c = 0; c < 3; ++c)
        rgb[c] = static_cast<std::uint8_t>(
            std::lround(kAnchors[low][c] + (at - static_cast<double>(low)) *
                                               (kAnchors[low + 1][c] - kAnchors[low][c])));
    return rgb;
}

std::array<std::uint8_t, 3> differenceColour(double share)
{
    static constexpr std::array<double, 3> kLess{38, 110, 235}, kNone{40, 40, 40},
        kMore{255, 140, 20};
    const auto& end = share < 0 ? kLess : kMore;
    const double t = std::min(1.0, std::abs(share));
    std::array<std::uint8_t, 3> rgb{};
    for (std::size_t c = 0; c < 3; ++c)
        rgb[c] = static_cast<std::uint8_t>(std::lround(kNone[c] + t * (end[c] - kNone[c])));
    return rgb;
}

PictureSheet::Overlay mapOverlay(const GazeMaps& maps, std::size_t frame, int patch,
                                 const GazeLook& look)
{
    const auto area = static_cast<std::ptrdiff_t>(maps.rows * maps.columns);
    const auto first = maps.values.begin() + static_cast<std::ptrdiff_t>(frame) * area;
    const float greatest = look.scalesPerFrame ? *std::max_element(first, first + area)
                                               : std::ranges::max(maps.values);
    const MapView view(&*first, maps, patch);
    return [view, scale = greatest > 0 ? greatest : 1.0F,
            opacity = look.opacity](double x, double y, std::array<float, 3>& rgb) {
        tint(rgb, view, x, y, opacity, [&](double value) { return gazeColour(value / scale); });
    };
}

Image gazePicture(const GazeScene& scene, const GazeLook& look)
{
    expectsScene(scene);
    expects(look.cell >= 32, "gaze: frames of at least 32 px");
    const std::size_t count = scene.coarse.removed.size();
    const std::vector<std::size_t> shown = shownFrames(count, look.mostFrames);
    const std::vector<MapRow> rows = mapRows(scene, look.scalesPerFrame);
    const int tall = PictureSheet::heightFor(look.cell, scene.height, scene.width);
    const int rowHeight = tall + kCaption + kGap, head = kEdge + 44;
    const int columnsEnd = kEdge + kNames + static_cast<int>(shown.size()) * (look.cell + kGap);
    constexpr int kLeast = 460; // room for the title
    const int width = std::max(kLeast, columnsEnd + kBarRoom);
    PictureSheet sheet(width, head + 4 * rowHeight + kEdge - kGap, look.isDark);
    const std::string title = scene.title.empty() ? "Gaze" : "Gaze, " + scene.title;
    sheet.text(kEdge, kEdge + 9, fittedLines(title, 16, width - 2 * kEdge).front(), 16, "text",
               "left", true);
    std::string note = scene.note;
    if (shown.size() < count)
        note += fmt::format("{}{} of {} frames", note.empty() ? "" : "; ", shown.size(), count);
    sheet.text(kEdge, kEdge + 31, note, kFace, "muted");
    int top = head;
    const auto name = [&](const std::string& first, const std::string& second) {
        sheet.text(kEdge, top + tall / 2.0 - (second.empty() ? 0 : 8), first, 13, "text");
        sheet.text(kEdge, top + tall / 2.0 + 9, second, kFace, "muted");
    };
    name("original", "");
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const int left = kEdge + kNames + static_cast<int>(i) * (look.cell + kGap);
        sheet.frame(left, top, look.cell, frameOf(scene, shown[i]), scene.height, scene.width);
        sheet.text(left + look.cell / 2.0, top + tall + kCaption / 2.0 + 1,
                   frameName(scene.timestamps, shown[i]), kFace, "muted", "centre");
    }
    for (const MapRow& row : rows) {
        top += rowHeight;
        name(row.name, row.isDifference ? "fine−coarse" : "");
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const int left = kEdge + kNames + static_cast<int>(i) * (look.cell + kGap);
            sheet.frame(left, top, look.cell, frameOf(scene, shown[i]), scene.height, scene.width,
                        row.overlay(shown[i], scene.patch, look.opacity));
            const std::string scale = "±" + percent(row.scales[shown[i]]);
            std::string below =
                row.isDifference ? "" : "removed " + percent(row.maps.removed[shown[i]]);
            if (look.scalesPerFrame)
                below = row.isDifference ? scale : "most " + scale.substr(2);
            sheet.text(left + look.cell / 2.0, top + tall + kCaption / 2.0 + 1, below, kFace,
                       "muted", "centre");
        }
        sheet.bar(columnsEnd + 6, top, kBar, tall, [&](double share) {
            return row.colour(row.isDifference ? 2 * share - 1 : share);
        });
        const double x = columnsEnd + 6 + kBar + 4;
        const bool isOneScale = !look.scalesPerFrame;
        const std::string most = isOneScale ? percent(row.scales.front()) : "most";
        sheet.text(x, top + 7, row.isDifference ? "+" + most : most, 11, "muted");
        sheet.text(x, top + tall - 7, row.isDifference ? "−" + most : "0", 11, "muted");
    }
    return std::move(sheet).take();
}

std::vector<Image> gazeFrames(const std::vector<GazeScene>& scenes, const GazeLook& look)
{
    expects(!scenes.empty(), "gaze: at least one clip");
    std::vector<std::vector<MapRow>> rows;
    std::size_t count = 0;
    int tall = 0;
    for (const GazeScene& scene : scenes) {
        expectsScene(scene);
        rows.push_back(mapRows(scene, look.scalesPerFrame));
        count = std::max(count, scene.coarse.removed.size());
        tall = std::max(tall, PictureSheet::heightFor(look.cell, scene.height, scene.width));
    }
    constexpr int kTitleLine = 15, kTitleLines = 2;
    const int rowHeight = tall + kGap, head = kEdge + kTitleLine * kTitleLines;
    std::vector<Image> frames;
    for (std::size_t t = 0; t < count; ++t) {
        PictureSheet sheet(kEdge + kNames + static_cast<int>(scenes.size()) * (look.cell + kGap) -
                               kGap + kEdge,
                           head + 4 * rowHeight - kGap + kEdge, look.isDark);
        for (std::size_t s = 0; s < scenes.size(); ++s) {
            const GazeScene& scene = scenes[s];
            const std::size_t frame = std::min(t, scene.coarse.removed.size() - 1);
            const int left = kEdge + kNames + static_cast<int>(s) * (look.cell + kGap);
            double middle = kEdge + 2;
            for (const std::string& line :
                 fittedLines(scene.title, kFace, look.cell - 6, kTitleLines)) {
                sheet.text(left + look.cell / 2.0, middle, line, kFace, "muted", "centre");
                middle += kTitleLine;
            }
            sheet.frame(left, head, look.cell, frameOf(scene, frame), scene.height, scene.width);
            for (std::size_t r = 0; r < rows[s].size(); ++r)
                sheet.frame(left, head + static_cast<int>(r + 1) * rowHeight, look.cell,
                            frameOf(scene, frame), scene.height, scene.width,
                            rows[s][r].overlay(frame, scene.patch, look.opacity));
        }
        const char* const names[] = {"original", "coarse", "fine", "difference"};
        for (int r = 0; r < 4; ++r)
            sheet.text(kEdge, head + r * rowHeight + tall / 2.0, names[r], 13);
        sheet.text(kEdge, kEdge + 2, frameName(scenes.front().timestamps, t), kFace, "muted");
        frames.push_back(withoutAlpha(std::move(sheet).take()));
    }
    return frames;
}

} // namespace vergence::fvlm
