#pragma once

#include <chrono>
#include <string>

namespace vergence {

/// Seconds since an arbitrary start; never jumps.
double steadySeconds();

/// Seconds since 1970; may jump when the clock is set.
double epochSeconds();

/// Time of day as "2026-03-02T10:15:07.123Z".
std::string utcNow();

/// Time of day for folder names: "2026-03-02T10-15-07Z".
std::string utcNowForPath();

} // namespace vergence
