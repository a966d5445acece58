#include "core/artifact/event_export.h"

#include "core/artifact/manifest.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/metrics/event_file.h"

namespace vergence {

namespace {

/// When the run began, in seconds since 1970; 0 where the manifest does not say.
double startOf(const RunFolder& folder)
{
    try {
        const nlohmann::json start = readManifest(folder).value("/times/start"_json_pointer, "");
        return start.is_string() ? secondsOf(start.get<std::string>()) : 0;
    } catch (const InputError&) {
        return 0;
    }
}

} // namespace

EventExport exportEvents(const RunFolder& folder)
{
    const double start = startOf(folder);
    const MetricStore metrics =
        MetricStore::fromCsv(readFile(folder.metrics()), folder.metrics().string());
    return {eventFileName(start, folder.id()), toEventFile(metrics, start)};
}

} // namespace vergence
