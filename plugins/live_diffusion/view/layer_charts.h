#pragma once

#include <span>
#include <string>

#include "core/view/diagram.h"

namespace vergence::live {

/// What keeps an operation from being faster.
enum class LayerBound { Compute, Memory, Latency };

/// One operation of the network as it was measured.
struct LayerTime {
    std::string name;  ///< `d1.0.c1`
    std::string block; ///< neighbours of one block stand in one row
    double microseconds = 0;
    double flop = 0;  ///< of one evaluation
    double bytes = 0; ///< compulsory traffic
    LayerBound bound = LayerBound::Compute;
};

/// What a device can do at most.
struct Roof {
    std::string name;          ///< "fp16 peak", "measured" …
    double flopPerSecond = 0;  ///< flat part
    double bytesPerSecond = 0; ///< sloped part
    bool isMeasured = false;   ///< solid instead of dashed
};

struct LayerLook {
    double width = 760, height = 520; ///< layerBars() takes the height that its blocks need
    std::string nameA = "A", nameB = "B";
};

/// Achieved FLOP/s over intensity, both logarithmic: a dot per operation, its area in proportion to
/// its time, over the roofs. Operations without FLOP, bytes or time have no place and are counted
/// in the note. A dot's tip is the operation's name.
Diagram roofline(std::span<const LayerTime> layers, std::span<const Roof> roofs,
                 const LayerLook& look = {});

/// Time per operation, one row per block in the order of the network, coloured by bound. With `b`
/// every block has a second, thinner bar below the first.
Diagram layerBars(std::span<const LayerTime> a, std::span<const LayerTime> b = {},
                  const LayerLook& look = {});

} // namespace vergence::live
