#include "plugins/foveated_vlm/view/ask_picture.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

namespace {

constexpr int kEdge = 24, kGap = 12, kHead = 74, kLine = 18, kLines = 3;
constexpr int kLargest = 240; ///< px: edge of a single frame
constexpr double kTitle = 17, kFace = 13, kSmall = 12;
enum Kind : std::size_t { Original, Coarse, Fine, Kinds };

/// Where the frames of the three kinds stand.
class AskLayout {
public:
    AskLayout(const GazeScene& scene, const GazeLook& look)
        : m_shown(shownFrames(scene.coarse.removed.size(), look.mostFrames)),
          m_isAcross(m_shown.size() == 1),
          m_edge(m_isAcross ? std::max(look.cell, kLargest) : look.cell),
          m_tall(PictureSheet::heightFor(m_edge, scene.height, scene.width))
    {
    }

    const std::vector<std::size_t>& shown() const { return m_shown; }
    int edge() const { return m_edge; }
    int tall() const { return m_tall; }
    int left(std::size_t kind, std::size_t column) const
    {
        return kEdge + static_cast<int>(m_isAcross ? kind : column) * (m_edge + kGap);
    }
    int top(std::size_t kind) const
    {
        return kHead + static_cast<int>(m_isAcross ? 0 : kind) * (m_tall + textHeight());
    }
    /// Room for the lines below a frame: in rows one, beside another three.
    int textHeight() const { return (m_isAcross ? kLines : 1) * kLine + kGap; }
    int lineWidth() const { return m_isAcross ? m_edge : width() - 2 * kEdge; }
    int width() const
    {
        const int columns = static_cast<int>(m_isAcross ? std::size_t{Kinds} : m_shown.size());
        return std::max(kLeast, 2 * kEdge + columns * (m_edge + kGap) - kGap);
    }
    int height() const { return top(Fine) + m_tall + textHeight() + kLine; }

private:
    static constexpr int kLeast = 560; ///< room for the words

    std::vector<std::size_t> m_shown;
    bool m_isAcross;
    int m_edge, m_tall;
};

/// Three lines of a kind: its name, what it says, where its weight is.
using Lines = std::array<std::string, kLines>;

std::string said(const AskAnswer& answer, const std::string& truth)
{
    if (answer.text.empty())
        return "nothing answered yet";
    return fmt::format("\"{}\", {}; right one {:.0f} %", answer.text,
                       answer.text == truth ? "right" : "wrong", 100 * answer.likelihood);
}

std::string looked(const AskScene& scene, const GazeMaps& maps)
{
    double mass = 0;
    for (std::size_t t = 0; t < maps.removed.size(); ++t)
        mass += massWithin(maps, t, scene.gaze.patch, scene.asked);
    const double share = mass / static_cast<double>(maps.removed.size());
    const double area = static_cast<double>((scene.asked.right - scene.asked.left) *
                                            (scene.asked.bottom - scene.asked.top)) /
                        (scene.gaze.width * scene.gaze.height);
    return fmt::format("{:.0f} % on the cell (even: {:.0f} %)", 100 * share, 100 * area);
}

Lines linesOf(const AskScene& scene, Kind kind)
{
    if (kind == Original)
        return {scene.gaze.coarse.frames > 1 ? "the clip" : "the picture",
                "right: \"" + scene.truth + "\"", "click a cell to ask for it"};
    if (kind == Coarse)
        return {"one look at everything", said(scene.coarse, scene.truth),
                looked(scene, scene.gaze.coarse)};
    return {"gaze, steered by the question", said(scene.fine, scene.truth),
            looked(scene, scene.gaze.fine)};
}

void writeLines(PictureSheet& sheet, const AskLayout& layout, const AskScene& scene, Kind kind)
{
    const Lines lines = linesOf(scene, kind);
    const bool isRow = layout.shown().size() > 1;
    const std::string first =
        isRow ? fmt::format("{}: {}; {}", lines[0], lines[1], lines[2]) : lines[0];
    double y = layout.top(kind) + layout.tall() + kLine / 2.0 + 4;
    for (std::size_t i = 0; i < (isRow ? 1 : lines.size()); ++i) {
        sheet.text(layout.left(kind, 0), y,
                   fittedLines(i == 0 ? first : lines[i], kFace, layout.lineWidth()).front(), kFace,
                   i == 0 ? "text" : "muted", "left", i == 0 && !isRow);
        y += kLine;
    }
}

/// Pixels of a frame in `box`, in px of the sheet; two px wide around it.
void outline(PictureSheet& sheet, const AskLayout& layout, const AskScene& scene, int left, int top)
{
    const double across = static_cast<double>(layout.edge()) / scene.gaze.width;
    const double down = static_cast<double>(layout.tall()) / scene.gaze.height;
    sheet.outline(left + static_cast<int>(scene.asked.left * across),
                  top + static_cast<int>(scene.asked.top * down),
                  left + static_cast<int>(scene.asked.right * across),
                  top + static_cast<int>(scene.asked.bottom * down));
}

/// Letters of the rows and numbers of the columns, beside and above the first frame.
void nameCells(PictureSheet& sheet, const AskLayout& layout, const AskScene& scene, Kind kind)
{
    constexpr int kMostNames = 16; ///< more would touch
    if (kind != Original || scene.side > kMostNames)
        return;
    const int left = layout.left(kind, 0), top = layout.top(kind);
    for (int cell = 0; cell < scene.side; ++cell) {
        const double middle = (cell + 0.5) / scene.side;
        sheet.text(left - 11, top + middle * layout.tall(), rowName(cell), kSmall, "muted",
                   "centre");
        sheet.text(left + middle * layout.edge(), top - 10, std::to_string(cell + 1), kSmall,
                   "muted", "centre");
    }
}

} // namespace

Image askPicture(const AskScene& scene, const GazeLook& look)
{
    const AskLayout layout(scene.gaze, look);
    PictureSheet sheet(layout.width(), layout.height(), look.isDark);
    const std::string title = fmt::format("Asked: {} (row {}, column {})", scene.question,
                                          rowName(scene.place.row), scene.place.column + 1);
    sheet.text(kEdge, kEdge, fittedLines(title, kTitle, layout.width() - 2 * kEdge).front(), kTitle,
               "text", "left", true);
    const bool isWrong = !scene.complaint.empty();
    sheet.text(kEdge, kEdge + 22,
               fittedLines(isWrong ? scene.complaint : scene.gaze.title + "; " + scene.gaze.note,
                           kFace, layout.width() - 2 * kEdge)
                   .front(),
               kFace, isWrong ? "warning" : "muted");
    const std::size_t area = std::size_t(3) * static_cast<std::size_t>(scene.gaze.height) *
                             static_cast<std::size_t>(scene.gaze.width);
    for (const Kind kind : {Original, Coarse, Fine}) {
        for (std::size_t i = 0; i < layout.shown().size(); ++i) {
            const std::size_t t = layout.shown()[i];
            PictureSheet::Overlay overlay;
            if (kind != Original)
                overlay = mapOverlay(kind == Coarse ? scene.gaze.coarse : scene.gaze.fine, t,
                                     scene.gaze.patch, look);
            const int left = layout.left(kind, i), top = layout.top(kind);
            sheet.frame(left, top, layout.edge(),
                        std::span(scene.gaze.frames).subspan(t * area, area), scene.gaze.height,
                        scene.gaze.width, overlay);
            outline(sheet, layout, scene, left, top);
        }
        nameCells(sheet, layout, scene, kind);
        writeLines(sheet, layout, scene, kind);
    }
    return std::move(sheet).take();
}

std::optional<FramePoint> askPlace(const AskScene& scene, const GazeLook& look, double x, double y)
{
    const AskLayout layout(scene.gaze, look);
    for (const Kind kind : {Original, Coarse, Fine})
        for (std::size_t i = 0; i < layout.shown().size(); ++i) {
            const double across = (x - layout.left(kind, i)) / layout.edge();
            const double down = (y - layout.top(kind)) / layout.tall();
            if (across >= 0 && across < 1 && down >= 0 && down < 1)
                return FramePoint{layout.shown()[i], across * scene.gaze.width,
                                  down * scene.gaze.height};
        }
    return std::nullopt;
}

double massWithin(const GazeMaps& maps, std::size_t frame, int patch, const CellBox& box)
{
    expects(frame < static_cast<std::size_t>(maps.frames) && patch > 0,
            "gaze: a frame of the maps");
    const auto overlap = [patch](Index cell, int low, int high) {
        const double from = std::max<double>(static_cast<double>(cell) * patch, low);
        const double to = std::min<double>(static_cast<double>(cell + 1) * patch, high);
        return std::max(0.0, to - from) / patch;
    };
    double mass = 0;
    for (Index row = 0; row < maps.rows; ++row)
        for (Index column = 0; column < maps.columns; ++column) {
            const auto at = (static_cast<Index>(frame) * maps.rows + row) * maps.columns + column;
            mass += overlap(row, box.top, box.bottom) * overlap(column, box.left, box.right) *
                    maps.values[static_cast<std::size_t>(at)];
        }
    return mass;
}

} // namespace vergence::fvlm
