#include "plugins/foveated_vlm/session/grid_asking.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vergence::fvlm {

namespace {

AskAnswer answerOf(const WrittenAnswer& written)
{
    return {written.text, std::exp(-written.nats)};
}

} // namespace

void GridAsking::show(Index clip)
{
    m_clip = clip;
    m_place = m_clips.scene(clip).asked;
    m_typed = gridQuestion(m_place);
    m_complaint.clear();
}

bool GridAsking::apply(const ViewInput& input)
{
    const auto isNews = [](double& last, double number) {
        return std::exchange(last, number) != number;
    };
    const auto textOf = [&](const char* key) {
        const auto found = input.texts.find(key);
        return found == input.texts.end() ? std::string() : found->second;
    };
    bool isChanged = false;
    const auto line = input.scalar(kControl);
    if (line && isNews(m_lines, *line))
        isChanged = type(textOf(kControl));
    const auto pick = input.values.find("pick");
    if (pick != input.values.end() && pick->second.size() == 4 &&
        isNews(m_picks, pick->second[3]) && textOf("pick_stream") == kStream)
        isChanged |= click(pick->second[0], pick->second[1]);
    return isChanged;
}

bool GridAsking::type(const std::string& text)
{
    m_typed = text;
    const GridRequest request = readGridQuestion(text, m_clips.settings().side);
    m_complaint = request.complaint;
    m_place = request.place.value_or(m_place);
    return true;
}

bool GridAsking::click(double x, double y)
{
    const auto at = m_shown ? askPlace(*m_shown, m_style, x, y) : std::nullopt;
    if (!at)
        return false;
    const int side = m_clips.settings().side;
    GridPlace place;
    while (place.row + 1 < side && m_clips.boxOf(place).bottom <= at->y)
        ++place.row;
    while (place.column + 1 < side && m_clips.boxOf(place).right <= at->x)
        ++place.column;
    m_place = place;
    m_typed = gridQuestion(place);
    m_complaint.clear();
    m_isClicked = true;
    return true;
}

AskScene GridAsking::scene(const ClipLook& look, GazeScene gaze, const GazeLook& style)
{
    AskScene scene;
    scene.gaze = std::move(gaze);
    scene.asked = m_clips.boxOf(m_place);
    scene.place = m_place;
    scene.side = m_clips.settings().side;
    scene.question = look.info.text.prompt;
    scene.truth = look.info.text.answer;
    scene.coarse = answerOf(look.coarseAnswer);
    scene.fine = answerOf(look.sequentialAnswer);
    scene.complaint = m_complaint;
    m_shown = scene;
    m_style = style;
    return scene;
}

} // namespace vergence::fvlm
