#pragma once

#include <string>
#include <vector>

#include "core/artifact/run_folder.h"
#include "core/run/run_state.h"

namespace vergence::cli {

/// A run of a list, and where it stands.
struct ListedRun {
    RunFolder folder;
    RunState state = RunState::Queued;
    std::int64_t step = 0, total = 0;
};

/// A line for each sweep among the runs of which some work: "Sweep over rate: 12 of 50 have ended,
/// 2 work; about 2 h 10 min left, until Mon 30 Nov 13:05."
std::vector<std::string> sweepEnds(const std::vector<ListedRun>& runs);

/// "Mon 30 Nov 13:05": seconds since 1970 by the clock of this computer.
std::string momentText(double epoch);

} // namespace vergence::cli
