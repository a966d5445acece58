#pragma once

#include <vector>

#include "core/artifact/run_folder.h"

namespace vergence::cli {

/// Brings copies of runs that work elsewhere up to date, with one look per computer; those that
/// have ended are as they were. Tells on stderr what computer does not answer.
void followOnce(const std::vector<RunFolder>& runs);

} // namespace vergence::cli
