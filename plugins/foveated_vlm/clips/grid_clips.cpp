#include "plugins/foveated_vlm/clips/grid_clips.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/foveated_vlm/clips/grid_paint.h"

namespace vergence::fvlm {

namespace {

constexpr float kClipFrameRate = 8;
constexpr std::uint64_t kWrongAnswer = std::uint64_t(1) << 32; ///< draws for it start here

Rng drawsOf(const GridSettings& settings, std::uint64_t id)
{
    return Rng(settings.seed ^ 0x6772696464726177u, id);
}

int below(const Rng& rng, std::uint64_t draw, int count)
{
    return static_cast<int>(rng.uniform(draw) * static_cast<float>(count));
}

std::size_t indexOf(GridPlace place, int side)
{
    return static_cast<std::size_t>(place.row * side + place.column);
}

} // namespace

GridClips::GridClips(const GridSettings& settings) : m_settings(settings)
{
    expects(settings.size >= 16 && settings.size <= 4096, "grids: size of 16 to 4096 px");
    expects(settings.frames >= 1 && settings.count >= 0, "grids: at least one frame");
    expects(settings.side >= 1 && settings.side <= kMostCells &&
                settings.side * gridTask(settings.content).leastCell <= settings.size,
            "grids: 1 to 26 cells along an edge, as many as the frame has room for");
}

ClipInfo GridClips::info(Index clip) const
{
    ClipInfo info;
    info.text = textFor(clip, scene(clip).asked);
    info.id = idOf(clip);
    info.frames = m_settings.frames;
    info.isImage = m_settings.content != GridContent::Sign;
    if (info.isImage)
        return info;
    info.fps = kClipFrameRate;
    info.seconds = static_cast<float>(m_settings.frames) / kClipFrameRate;
    for (int t = 0; t < m_settings.frames; ++t)
        info.timestamps.push_back(static_cast<float>(t) / kClipFrameRate);
    return info;
}

void GridClips::read(Index clip, std::span<std::uint8_t> out) const
{
    expectsClip(*this, clip);
    expects(out.size() == static_cast<std::size_t>(m_settings.frames) * frameSize(*this),
            "grids: room for all frames of one clip");
    const GridScene drawn = scene(clip);
    for (int frame = 0; frame < m_settings.frames; ++frame) {
        const auto target =
            out.subspan(static_cast<std::size_t>(frame) * frameSize(*this), frameSize(*this));
        paintGrid(m_settings, drawn, idOf(clip), frame, target);
    }
}

std::string GridClips::digest() const
{
    const GridSettings& s = m_settings;
    return sha256Hex(fmt::format("grid 1 {} {} {} {} {} {} {}", gridTask(s.content).name, s.side,
                                 s.size, s.frames, s.seed, s.count, s.firstId));
}

GridScene GridClips::scene(Index clip) const
{
    expectsClip(*this, clip);
    const Rng rng = drawsOf(m_settings, idOf(clip));
    std::uint64_t draw = 0;
    GridScene scene;
    scene.asked.row = below(rng, draw++, m_settings.side);
    scene.asked.column = below(rng, draw++, m_settings.side);
    for (int cell = 0; cell < m_settings.side * m_settings.side; ++cell) {
        scene.contents.push_back(below(rng, draw++, kGridAnswers));
        scene.frames.push_back(below(rng, draw++, m_settings.frames));
    }
    return scene;
}

ClipText GridClips::textFor(Index clip, GridPlace place) const
{
    expects(std::min(place.row, place.column) >= 0 &&
                std::max(place.row, place.column) < m_settings.side,
            "grids: a cell that is there");
    const int content = scene(clip).contents[indexOf(place, m_settings.side)];
    const int shift = 1 + below(drawsOf(m_settings, idOf(clip)), kWrongAnswer, kGridAnswers - 1);
    const auto& answers = gridAnswers(m_settings.content);
    ClipText text;
    text.source = "synthetic";
    text.prompt = gridQuestion(place);
    text.answer = text.chosen = answers[static_cast<std::size_t>(content)];
    text.rejected = answers[static_cast<std::size_t>((content + shift) % kGridAnswers)];
    return text;
}

CellBox GridClips::boxOf(GridPlace place) const
{
    return gridCellBox(m_settings, place);
}

const std::vector<std::string>& gridAnswers(GridContent content)
{
    static const std::vector<std::string> colours{"red",    "green", "blue",   "yellow",
                                                  "purple", "white", "orange", "cyan"};
    static const std::vector<std::string> letters{"C", "E", "H", "K", "L", "O", "T", "X"};
    return content == GridContent::Letter ? letters : colours;
}

} // namespace vergence::fvlm
