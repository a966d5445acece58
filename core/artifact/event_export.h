#pragma once

#include <string>

#include "core/artifact/run_folder.h"

namespace vergence {

/// The numbers of a run for TensorBoard; see core/metrics/event_file.h.
struct EventExport {
    std::string name; ///< by which TensorBoard knows the file
    std::string bytes;
};

/// Throws InputError where the run has no readable numbers.
EventExport exportEvents(const RunFolder& folder);

} // namespace vergence
