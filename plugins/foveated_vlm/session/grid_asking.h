#pragma once

#include <optional>
#include <string>

#include "core/view/view_input.h"
#include "plugins/foveated_vlm/clips/grid_clips.h"
#include "plugins/foveated_vlm/session/clip_look.h"
#include "plugins/foveated_vlm/view/ask_picture.h"

namespace vergence::fvlm {

/// What people ask of the grid that is shown: by typing a question, or by a click on a cell. Where
/// they ask nothing, the clip's own question stands.
class GridAsking {
public:
    static constexpr const char* kControl = "question"; ///< the line for it
    static constexpr const char* kStream = "gaze";      ///< that is clicked

    /// `clips` must outlive it.
    explicit GridAsking(const GridClips& clips) : m_clips(clips) {}

    /// Another clip is shown, with its own question.
    void show(Index clip);
    /// True where the question, or what is said of it, has changed.
    bool apply(const ViewInput& input);
    /// A click has changed the question: the line that it is typed in says another one.
    bool takeClicked() { return std::exchange(m_isClicked, false); }

    /// The clip's text with the question that is asked.
    ClipText text() const { return m_clips.textFor(m_clip, m_place); }
    const std::string& typed() const { return m_typed; } ///< what the line of the control says
    /// Scene of a look; it is what the next click is meant for.
    AskScene scene(const ClipLook& look, GazeScene gaze, const GazeLook& style);

private:
    bool type(const std::string& text);
    bool click(double x, double y);

    const GridClips& m_clips;
    Index m_clip = 0;
    GridPlace m_place;
    std::string m_typed, m_complaint;
    double m_picks = 0, m_lines = 0; ///< running numbers of the latest ones
    bool m_isClicked = false;
    std::optional<AskScene> m_shown;
    GazeLook m_style;
};

} // namespace vergence::fvlm
