#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/view/diagram.h"

namespace vergence::live {

/// What the time of a frame is made of, in the order of the pipeline.
inline constexpr std::array kStageNames{"decode, waiting", "pre", "network", "post", "present"};

/// Where the time of one frame went.
struct FrameTiming {
    std::int64_t frame = 0;                      ///< number in the stream
    std::array<double, kStageNames.size()> ms{}; ///< NaN: not measured, drawn as nothing
    int dropped = 0;                             ///< frames lost since the one before
    bool isSkipped = false;                      ///< the last output was shown again
};

struct LatencyLook {
    double width = 900, height = 330;
    std::optional<double> budgetMs{}; ///< the user's own line
    bool isLog = false;               ///< counts of the histogram
};

inline constexpr std::size_t kTimelineFrames = 600; ///< the last ones are shown

/// Stages stacked per frame, lines at 40 and 16 ms and at the own budget, drops and skips marked.
/// Single frames far above the others do not set the scale: they end in a diamond at the top.
/// A sentence where there are none.
Diagram latencyTimeline(std::span<const FrameTiming> frames, const LatencyLook& look = {});

/// How often which latency occurred: the same lines, and p50, p95, p99 (linear between values, rank
/// (n − 1)p). Values that are not finite are counted in the note alone.
Diagram latencyHistogram(std::span<const double> milliseconds, const LatencyLook& look = {});

} // namespace vergence::live
