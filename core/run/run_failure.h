#pragma once

#include <exception>
#include <string>

#include "core/base/error.h"

namespace vergence {

/// Why a run ended early, in the words that log, `status.json` and the window's card repeat.
struct RunFailure {
    ExitCode code = ExitCode::RunFailed;
    std::string id; ///< "E-OOM", "E-DATA", "E-OUTPUT", …
    std::string sentence;
};

/// The id of a failure that is known by its exit code alone.
const char* problemIdOf(ExitCode code);

/// What `error` means for a run that was at `step` doing `phase` (may be empty).
RunFailure describeFailure(const std::exception_ptr& error, std::int64_t step,
                           const std::string& phase);

} // namespace vergence
