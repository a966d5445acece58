#include <cmath>

#include <fmt/format.h>

#include "plugins/live_diffusion/bench/bench_parts.h"
#include "plugins/live_diffusion/bench/eval_task.h"
#include "plugins/live_diffusion/bench/subjects.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/profile/layer_profile.h"
#include "plugins/live_diffusion/profile/memory_profile.h"
#include "plugins/live_diffusion/profile/op_costs.h"
#include "plugins/live_diffusion/profile/targets.h"
#include "plugins/live_diffusion/profile/tensor_core_check.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr int kProfiledEvaluations = 20;
constexpr Index kGrids[] = {64, 128};
constexpr int kSteps[] = {1, 2, 4};
constexpr double kSecondsPerTarget = 2;

struct SeedRow {
    const char* name;
    Index channels;
    int batch;
};
constexpr SeedRow kSeedRows[] = {{"light", 96, 1}, {"medium", 128, 2}, {"heavy", 192, 2}};
constexpr int kSeedEvaluations = 5;

std::shared_ptr<FrameNetwork> networkOf(const BenchSetup& setup)
{
    return setup.subject.build(setup.switches, 1);
}

/// Roofs that are no lower than what the network reaches.
DevicePeaks reachedPeaks(const BenchRequest& request, const BenchSetup& setup)
{
    const DevicePeaks peaks = peaksOf(request);
    const auto network = networkOf(setup);
    return reached(peaks, profileLayers(*network, peaks, ProfileMode::InSitu, kProfiledEvaluations),
                   setup.switches.precision);
}

/// A frame of so many steps, milliseconds; NaN where the subject has no steps.
std::vector<double> measuredFrames(const BenchRequest& request, const BenchSetup& setup)
{
    std::vector<double> ms;
    if (!setup.subject.isStream)
        return ms;
    for (const int steps : kSteps) {
        LoopSettings loop = setup.loop;
        loop.steps = steps;
        loop.isStreamBatch = false;
        loop.filtersSimilar = false;
        say(request, fmt::format("{} step{}", steps, steps > 1 ? "s" : ""));
        DrivenNetwork driven(setup.subject, setup.switches, loop, setup.frames);
        const BenchResult result =
            driven.measure("frames", Protocol::within(request.seconds.value_or(kSecondsPerTarget)));
        ms.push_back(summarise(result.deviceUs).median / 1000);
    }
    return ms;
}

} // namespace

BenchAnswer profileMode(const BenchRequest& request, const BenchSetup& setup)
{
    BenchReport report = emptyReport(request, setup);
    const Precision precision = setup.switches.precision;
    DevicePeaks peaks = peaksOf(request);
    const auto network = networkOf(setup);
    LayerProfile inSitu = profileLayers(*network, peaks, ProfileMode::InSitu, kProfiledEvaluations);
    LayerProfile alone =
        profileLayers(*network, peaks, ProfileMode::Isolated, kProfiledEvaluations);
    peaks = reached(reached(peaks, inSitu, precision), alone, precision);
    inSitu = judged(std::move(inSitu), peaks, precision);
    alone = judged(std::move(alone), peaks, precision);
    report.layers = inSitu.toJson();
    report.memoryTimeline = memoryProfile(setup.subject.program, setup.switches).toJson();
    BenchAnswer answer;
    answer.markdown = fmt::format(
        "# Operations of {}\n\nRoofs ({}): {} GFLOP/s, {} GB/s, ridge {} FLOP/B\n\n"
        "## In place\n\n{}\n## Each alone\n\n{}",
        setup.subject.model, peaks.isMeasured ? "measured here" : "data sheet",
        shortNumber(peaks.flops(setup.switches.precision) * 1e-9),
        shortNumber(peaks.bandwidth * 1e-9), shortNumber(peaks.ridge(setup.switches.precision)),
        inSitu.markdown(), alone.markdown());
    answer.csv = inSitu.csv();
    answer.report = toJson(report);
    answer.report["layers_isolated"] = alone.toJson();
    return answer;
}

BenchAnswer memoryMode(const BenchRequest& request, const BenchSetup& setup)
{
    BenchReport report = emptyReport(request, setup);
    const MemoryProfile profile = memoryProfile(setup.subject.program, setup.switches);
    const FrameCost cost = networkOf(setup)->cost();
    report.memoryTimeline = profile.toJson();
    BenchAnswer answer;
    answer.markdown = fmt::format(
        "# Memory of {}\n\nAs built: weights {}, arena {}, workspace {}, caches {}, tuning peak "
        "{}\n\n{}",
        setup.subject.model, byteNumber(static_cast<double>(cost.weightBytes)),
        byteNumber(static_cast<double>(cost.arenaBytes)),
        byteNumber(static_cast<double>(cost.workspaceBytes)),
        byteNumber(static_cast<double>(cost.cacheBytes)),
        byteNumber(static_cast<double>(cost.tuningPeakBytes)), profile.markdown());
    answer.report = toJson(report);
    if (setup.subject.describe) {
        const auto bars = whatIf(setup.subject.describe, kGrids, setup.switches.fusion);
        answer.markdown += "\n## What if\n\n" + whatIfMarkdown(bars);
    }
    return answer;
}

BenchAnswer validateMode(const BenchRequest& request, const BenchSetup& setup)
{
    const Precision precision = setup.switches.precision;
    const auto shapes = checkShapes(setup.subject.program, setup.switches);
    const auto plans = checkPlans(networkOf(setup)->operations(), precision);
    BenchAnswer answer;
    answer.markdown = fmt::format(
        "# Tensor cores in {}\n\n{}## Shapes\n\n{}\n## Plans in use\n\n{}", nameOf(precision),
        tensorCoreMultiple(precision) == 0 ? "Strict fp32 uses none.\n\n" : "",
        shapeIssuesMarkdown(shapes), shapeIssuesMarkdown(plans));
    answer.report = toJson(emptyReport(request, setup));
    return answer;
}

BenchAnswer seedMode(const BenchRequest& request, const BenchSetup& setup)
{
    BenchReport report = emptyReport(request, setup);
    TextTable table{{"row", "parameters", "batch", "ms per sequence", "sequences/s",
                     "evaluations/s", "steady memory"},
                    {}};
    for (const SeedRow& row : kSeedRows) {
        say(request, row.name);
        const BenchSubject subject = replicaB(request.device, row.channels);
        const auto network = subject.build(setup.switches, row.batch);
        EvalTask task(network, row.batch, kSeedEvaluations);
        BenchResult result = resultOf(row.name, measure(task, protocolOf(request)));
        result.memory = BenchMemory::of(network->cost());
        result.flopPerEvaluation = network->cost().flopPerRow;
        result.workPerEvaluation = network->cost().workPerRow;
        const double ms = summarise(result.deviceUs).median / 1000;
        table.rows.push_back({row.name, std::to_string(parameterCount(subject.program)),
                              std::to_string(row.batch), shortNumber(ms), shortNumber(1000 / ms),
                              shortNumber(1000 / ms * kSeedEvaluations),
                              byteNumber(static_cast<double>(result.memory.steady()))});
        report.results.push_back(std::move(result));
    }
    BenchAnswer answer;
    answer.markdown = fmt::format(
        "# Replica-B, {} evaluations a sequence\n\nPublished for the heavy row: 20.5 and 22.3 "
        "\"FPS\", which are evaluations per second.\n\n{}",
        kSeedEvaluations, table.markdown());
    answer.csv = table.csv();
    answer.report = toJson(report);
    return answer;
}

BenchAnswer targetsMode(const BenchRequest& request, const BenchSetup& setup)
{
    Switches ideal; // fused, flash, the precision in use
    ideal.precision = setup.switches.precision;
    const DevicePeaks peaks = reachedPeaks(request, setup);
    const double bound = lowerBound(opCosts(setup.subject.program, ideal), peaks, ideal.precision);
    BenchAnswer answer;
    answer.markdown =
        targetsMarkdown(peaks.name, setup.subject.model, bound, measuredFrames(request, setup));
    for (const DevicePeaks& other : publishedPeaks())
        answer.markdown += '\n' + targetsMarkdown(other.name, setup.subject.model + " (fp16)",
                                                  fusedHalfBound(setup.subject.program, other));
    answer.report = toJson(emptyReport(request, setup));
    answer.report["bound_ms"] = bound * 1e3;
    return answer;
}

} // namespace vergence::live
