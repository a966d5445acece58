#pragma once

#include "core/compute/view.h"

namespace vergence {

/// Learning rate as a factor (or value) of the update number s = 0, 1, …
enum class ScheduleKind { Constant, Cosine, Converging };

struct Schedule {
    ScheduleKind kind = ScheduleKind::Constant;
    Index warmup = 0;  ///< updates of linear growth from 0: factor s / warmup while s < warmup
    Index total = 0;   ///< update at which cosine and converging end
    double floor = 0;  ///< cosine: factor at the end
    double target = 0; ///< converging: rate at the end, whatever the base

    /// Rate for update s. With t from 0 after the warm-up to 1 at `total` and beyond, cosine:
    /// base · (floor + (1 − floor) · ½(1 + cos π t)); converging: the same half-cosine from base to
    /// target.
    double rate(Index s, double base) const;
};

} // namespace vergence
