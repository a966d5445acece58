#pragma once

#include <QString>

#include "core/artifact/run_folder.h"
#include "core/config/schema.h"

namespace vergence {

/// The integer setting whose value in the run's configuration is its number of steps; empty where
/// none or several fit and no name decides.
QString stepsKey(const ConfigSchema& schema, const RunFolder& folder, std::int64_t total);

} // namespace vergence
