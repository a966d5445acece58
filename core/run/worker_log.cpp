#include "core/run/worker_log.h"

#include <fmt/format.h>

namespace vergence {

std::filesystem::path workerLog(const RunFolder& folder)
{
    return folder.root / "worker.log";
}

std::filesystem::path pendingWorkerLog(const RunFolder& folder)
{
    return folder.root.parent_path() /
           (fmt::format(".{}.worker.log", folder.root.filename().string()));
}

void adoptWorkerLog(const RunFolder& folder) noexcept
{
    std::error_code ignored; // worker and window both try
    if (std::filesystem::exists(folder.root, ignored))
        std::filesystem::rename(pendingWorkerLog(folder), workerLog(folder), ignored);
}

} // namespace vergence
