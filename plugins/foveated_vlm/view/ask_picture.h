#pragma once

#include <optional>
#include <string>

#include "plugins/foveated_vlm/clips/grid_clips.h"
#include "plugins/foveated_vlm/view/gaze_picture.h"

namespace vergence::fvlm {

/// What a look answered, and how likely the right answer is to it.
struct AskAnswer {
    std::string text; ///< empty: nothing was written
    double likelihood = 0;
};

/// A grid, one cell of which is asked for, and where one look and the gaze went.
struct AskScene {
    GazeScene gaze;
    CellBox asked; ///< px of a frame
    GridPlace place;
    int side = 1; ///< cells along an edge
    std::string question, truth;
    AskAnswer coarse, fine; ///< fine: without a text where there is no gaze
    std::string complaint;  ///< of what was typed last; empty: none
};

/// A place in a frame, px.
struct FramePoint {
    std::size_t frame = 0;
    double x = 0, y = 0;
};

/// Picture, one look and gaze: side by side for a single frame, else as rows over the frames. The
/// asked cell is outlined in each. RGBA.
Image askPicture(const AskScene& scene, const GazeLook& look = {});

/// What of the scene lies under this pixel of askPicture(); nothing beside the frames.
std::optional<FramePoint> askPlace(const AskScene& scene, const GazeLook& look, double x, double y);

/// Share of a frame's map that lies in `box`, px; patches count by the part that it covers.
double massWithin(const GazeMaps& maps, std::size_t frame, int patch, const CellBox& box);

} // namespace vergence::fvlm
