#pragma once

#include <span>
#include <string>

#include "core/view/diagram.h"

namespace vergence::live {

/// One saved measurement of a configuration.
struct HistoryPoint {
    std::string config;               ///< what is compared with itself: "S 64 fp16, 2 steps"
    std::string label;                ///< of the measurement, short: date or commit
    double ms = 0, low = 0, high = 0; ///< per frame: median with its 95 % interval
};

/// Medians with their intervals in the order given, one line per configuration.
Diagram benchmarkHistory(std::span<const HistoryPoint> points, double width = 760,
                         double height = 360);

} // namespace vergence::live
