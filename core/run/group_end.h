#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/run/run_state.h"

namespace vergence {

/// Where one run of a group stands.
struct RunCourse {
    RunState state = RunState::Queued;
    std::int64_t step = 0, total = 0;
    double seconds = 0; ///< since it began, until now or its end
};

/// Seconds until all runs of a group have ended, if as many work at a time as do now and each takes
/// as long as those that have ended took on average, or as those that work will at their present
/// pace. Nothing where none works, or none has got far enough to judge by.
std::optional<double> secondsLeft(const std::vector<RunCourse>& runs);

} // namespace vergence
