#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "plugins/foveated_vlm/view/attention.h"
#include "plugins/foveated_vlm/view/picture_sheet.h"

namespace vergence::fvlm {

/// Frames of one clip with where the coarse and the fine query looked.
struct GazeScene {
    int height = 0, width = 0;        ///< of a frame, px
    std::vector<std::uint8_t> frames; ///< [T, 3, height, width] RGB
    int patch = 0;                    ///< edge of a patch, px: the grid covers patch · rows px
    GazeMaps coarse, fine;            ///< of T frames each
    std::vector<float> timestamps;    ///< s; empty: frames are numbered
    std::string title;                ///< "clip 17"
    std::string note;                 ///< what was averaged: "blocks 9–12, all heads"
};

struct GazeLook {
    bool scalesPerFrame = false; ///< else one scale per row, so that frames can be compared
    double opacity = 0.55;       ///< of the colours over the frame
    int cell = 128;              ///< edge of a frame in the picture, px
    int mostFrames = 16;         ///< columns; of longer clips frames are left out evenly
    bool isDark = true;
};

/// Rows: original, coarse, fine, difference (fine − coarse); columns: frames. RGBA with titles,
/// times, removed mass and a bar of colours per row. Maps are bilinear between the middles of the
/// patches; pixels that no patch covers are left as they are. Throws ContractError where extents do
/// not fit.
Image gazePicture(const GazeScene& scene, const GazeLook& look = {});

/// The same four rows frame by frame, one column per clip, RGB: the pictures of an animation. Clips
/// that are shorter hold their last frame; the scale of a row of a clip is that of the whole clip.
std::vector<Image> gazeFrames(const std::vector<GazeScene>& scenes, const GazeLook& look = {});

/// The colours of one frame's map over it, the greatest weight of the frame (of all frames, as the
/// look says) lightest. `maps` must outlive it.
PictureSheet::Overlay mapOverlay(const GazeMaps& maps, std::size_t frame, int patch,
                                 const GazeLook& look);

/// Colour of a share of the greatest weight, 0 to 1: dark violet to light yellow.
std::array<std::uint8_t, 3> gazeColour(double share);
/// Colour of a difference, −1 to 1: blue, nothing, orange.
std::array<std::uint8_t, 3> differenceColour(double share);

} // namespace vergence::fvlm
