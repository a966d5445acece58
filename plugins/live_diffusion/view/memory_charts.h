#pragma once

#include <span>
#include <string>

#include "core/view/diagram.h"

namespace vergence::live {

/// Bytes that are live while one operation runs.
struct MemoryStep {
    std::string op;
    double weights = 0, caches = 0, arena = 0, workspace = 0;
    double scores = 0; ///< of the arena, stored attention scores
};

/// Bytes in use at a moment; NaN where nobody could say.
struct MemorySample {
    double seconds = 0;
    double planned = 0; ///< what the lab knows it holds
    double device = 0;  ///< what the driver counts, everything on the device
};

struct MemoryLook {
    double width = 900, height = 330;
};

/// Stacked over the operations of one evaluation, greatest on its name. Values that are not finite
/// count as nothing.
Diagram memoryTimeline(std::span<const MemoryStep> steps, const MemoryLook& look = {});
/// The same by the clock: what is planned and what the driver counts.
Diagram memoryOverTime(std::span<const MemorySample> samples, const MemoryLook& look = {});

/// "11.2 MiB": 1024-based, "–" for what is not finite.
std::string byteText(double bytes);

} // namespace vergence::live
