#pragma once

#include <optional>
#include <vector>

#include "core/run/run_context.h"
#include "core/view/view_input.h"
#include "plugins/foveated_vlm/session/clip_look.h"
#include "plugins/foveated_vlm/session/grid_asking.h"
#include "plugins/foveated_vlm/view/frame_strip.h"
#include "plugins/foveated_vlm/view/gaze_picture.h"
#include "plugins/foveated_vlm/view/query_panel.h"

namespace vergence::fvlm {

/// Shows where the model looks: one held-out clip, with the weights of now, as often as the window
/// asks for pictures.
class Viewer {
public:
    /// `session` must outlive it.
    explicit Viewer(Session& session);

    void declare(RunContext& context) const;
    /// True where something that is shown has changed.
    bool apply(const ViewInput& input, RunContext& context);
    void publish(RunContext& context);
    ClipLooker& looker() { return m_looker; }

private:
    Index shownClip() const { return m_clips[static_cast<std::size_t>(m_clip)]; }
    GazeChoice choice() const;
    std::string choiceText() const;
    void publishGaze(RunContext& context, const ClipLook& look);

    Session& m_session;
    ClipLooker m_looker;
    std::vector<Index> m_clips; ///< that may be chosen
    Index m_blocks = 1, m_heads = 1;
    int m_clip = 0, m_block = 0, m_head = 0, m_refinement = 1;
    bool m_scalesPerFrame = false;
    std::optional<GridAsking> m_asking; ///< where clips are grids
};

// Scenes of one look, for window and files alike.
GazeScene gazeScene(const Session& session, const ClipLook& look, const GazeChoice& choice,
                    const std::string& note);
StripScene stripScene(const Session& session, const ClipLook& look);
QueryScene queryScene(const Session& session, const ClipLook& look);

} // namespace vergence::fvlm
