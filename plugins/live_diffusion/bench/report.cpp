#include "plugins/live_diffusion/bench/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/artifact/json_text.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::live {

BenchMemory BenchMemory::of(const FrameCost& cost)
{
    BenchMemory memory;
    memory.weights = cost.weightBytes;
    memory.arena = cost.arenaBytes;
    memory.workspace = cost.workspaceBytes;
    memory.caches = cost.cacheBytes;
    memory.graph = cost.graphBytes;
    memory.tuningPeak = cost.tuningPeakBytes;
    return memory;
}

std::optional<double> BenchResult::modelFlopUtilisation() const
{
    if (!peakFlops || *peakFlops <= 0 || deviceUs.empty())
        return std::nullopt;
    const double seconds = summarise(deviceUs).median * 1e-6;
    return static_cast<double>(workPerEvaluation) * evaluationsPerFrame / seconds / *peakFlops;
}

double BenchResult::bestFlops() const
{
    const auto best = std::ranges::min_element(deviceUs);
    return best == deviceUs.end() || *best <= 0
               ? 0
               : static_cast<double>(workPerEvaluation) * evaluationsPerFrame / (*best * 1e-6);
}

BenchResult resultOf(std::string id, const Measurement& measurement)
{
    BenchResult result;
    result.id = std::move(id);
    std::vector<double> completions;
    std::int64_t evaluations = 0;
    for (const MeasuredFrame& frame : measurement.frames) {
        result.dropped += frame.isDropped;
        result.skipped += frame.isSkipped;
        if (frame.isDropped || frame.isSkipped)
            continue;
        result.deviceUs.push_back(frame.device * 1e6);
        result.pipelineUs.push_back(frame.pipeline * 1e6);
        result.launchUs.push_back(frame.launch * 1e6);
        completions.push_back(frame.completed * 1e3);
        evaluations += frame.evaluations;
    }
    expects(!result.deviceUs.empty(), "resultOf: at least one finished frame");
    result.dropped += measurement.dropped;
    result.repeatMedianUs = {summarise(result.deviceUs).median};
    result.framesPerSecond = measurement.framesPerSecond();
    result.evaluationsPerSecond = measurement.evaluationsPerSecond();
    result.jitterMs = jitter(completions);
    result.evaluationsPerFrame =
        static_cast<double>(evaluations) / static_cast<double>(result.deviceUs.size());
    result.isSettled = measurement.isSettled;
    return result;
}

BenchResult joined(const std::vector<BenchResult>& repeats)
{
    expects(!repeats.empty(), "joined: at least one repeat");
    BenchResult all = repeats.front();
    const auto append = [](std::vector<double>& to, const std::vector<double>& more) {
        to.insert(to.end(), more.begin(), more.end());
    };
    for (std::size_t i = 1; i < repeats.size(); ++i) {
        const BenchResult& repeat = repeats[i];
        append(all.deviceUs, repeat.deviceUs);
        append(all.pipelineUs, repeat.pipelineUs);
        append(all.launchUs, repeat.launchUs);
        append(all.repeatMedianUs, repeat.repeatMedianUs);
        all.framesPerSecond += repeat.framesPerSecond;
        all.evaluationsPerSecond += repeat.evaluationsPerSecond;
        all.jitterMs += repeat.jitterMs;
        all.dropped += repeat.dropped;
        all.skipped += repeat.skipped;
        all.isSettled = all.isSettled && repeat.isSettled;
    }
    const double count = static_cast<double>(repeats.size());
    all.framesPerSecond /= count;
    all.evaluationsPerSecond /= count;
    all.jitterMs /= count;
    return all;
}

std::string BenchReport::configHash() const
{
    return sha256Hex(config.dump());
}

const BenchResult* BenchReport::find(const std::string& id) const
{
    const auto found = std::find_if(results.begin(), results.end(),
                                    [&](const BenchResult& result) { return result.id == id; });
    return found == results.end() ? nullptr : &*found;
}

void writeReport(const BenchReport& report, const std::filesystem::path& path)
{
    writeFileAtomic(path, prettyJson(toJson(report)));
}

BenchReport readReport(const std::filesystem::path& path)
{
    return reportFromJson(parseJson(readFile(path), path.string()), path.string());
}

} // namespace vergence::live
