#pragma once

#include <span>
#include <string>

#include "core/artifact/image.h"

namespace vergence::live {

/// A short statement on a live picture: size, precision, steps, "random weights", "skipped" …
struct Badge {
    std::string text;
    bool isWarning = false; ///< something the viewer should not overlook
};

enum class LiveMode {
    SideBySide, ///< input left, output right
    Wipe,       ///< one picture, input left of the edge
    Difference  ///< |output − input| · gain per channel
};

struct LiveLook {
    LiveMode mode = LiveMode::SideBySide;
    double wipe = 0.5; ///< share of the width that shows the input, 0 … 1
    double gain = 4;   ///< of the difference
    int edge = 384;    ///< px: width of a frame on the picture, at least 96
    bool isDark = true;
};

/// What goes in and what comes out of the stream, named, with badges below. RGBA, opaque; its size
/// depends on the look, the frames' aspect and the badges' lines alone. Throws ContractError where
/// the frames differ in size or are empty.
Image livePicture(const Image& input, const Image& output, std::span<const Badge> badges,
                  const LiveLook& look = {});

/// The frames as they are, without names and badges: what a film of the stream shows. RGB. Input
/// and output side by side are twice as wide as a frame.
Image plainPicture(const Image& input, const Image& output, const LiveLook& look = {});

} // namespace vergence::live
