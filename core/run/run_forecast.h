#pragma once

#include <cstdint>
#include <string>

#include "core/artifact/run_folder.h"

namespace vergence {

/// What a whole run will take if it goes on as it began.
struct RunForecast {
    std::int64_t total = 0;    ///< steps of the run
    std::int64_t measured = 0; ///< steps that the pace was judged by
    double secondsPerStep = 0;
    double secondsBefore = 0; ///< until its first step had ended
    double memoryMiB = 0;     ///< peak so far
    double deviceMiB = 0;     ///< peak so far of the process on its GPU; 0: none, or not known

    double seconds() const; ///< of the whole run
    /// Of so many of them, `atOnce` at a time (at least 1 each).
    double secondsFor(std::int64_t runs, std::int64_t atOnce) const;
};

/// Judges a run that was ended by a time limit, by the second half of what it did, which is free of
/// the costs of a beginning. Throws InputError where that was too short, where the run does not say
/// how many steps it has, or a file cannot be read.
RunForecast forecastFrom(const RunFolder& probe);

/// "45 s", "12 min", "2 h 14 min", "3 d 4 h": as exact as a forecast can be.
std::string roughDuration(double seconds);

} // namespace vergence
