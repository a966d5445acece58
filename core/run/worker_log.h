#pragma once

#include <filesystem>

#include "core/artifact/run_folder.h"

namespace vergence {

/// Where a worker's stdout and stderr go: worker.log in the run folder. A new run's folder is made
/// by the worker itself, so until then the file waits beside it under a hidden name.
std::filesystem::path workerLog(const RunFolder& folder);
std::filesystem::path pendingWorkerLog(const RunFolder& folder);
/// Moves a waiting file into the run folder; does nothing where there is none.
void adoptWorkerLog(const RunFolder& folder) noexcept;

} // namespace vergence
