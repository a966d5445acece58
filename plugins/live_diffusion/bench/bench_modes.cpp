#include "plugins/live_diffusion/bench/bench_modes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/device.h"
#include "plugins/live_diffusion/bench/ab_run.h"
#include "plugins/live_diffusion/bench/baselines.h"
#include "plugins/live_diffusion/bench/bench_parts.h"
#include "plugins/live_diffusion/bench/claims.h"
#include "plugins/live_diffusion/bench/compare.h"
#include "plugins/live_diffusion/bench/environment.h"
#include "plugins/live_diffusion/bench/stream_target.h"
#include "plugins/live_diffusion/bench/system_watch.h"
#include "plugins/live_diffusion/profile/text_table.h"

namespace vergence::live {

namespace {

constexpr double kPacedRates[] = {25, 62.5}; // of the two product budgets
constexpr double kPacedSeconds = 2;

/// The same task as a source of fixed rate delivers it; it is warm already.
Protocol paced(Protocol protocol, double rate)
{
    protocol.warmFrames = 0;
    protocol.warmSeconds = 0;
    protocol.warmCapSeconds = 1e-9;
    protocol.frames = 1;
    protocol.seconds = std::min(protocol.seconds, kPacedSeconds);
    protocol.pacedRate = rate;
    return protocol;
}

/// In strict F32, with the same weights.
std::vector<float> strictEvaluation(const BenchSetup& setup)
{
    return DrivenNetwork(setup.subject, baselineSwitches(), setup.loop, setup.frames).evaluation();
}

/// All results of one process.
std::vector<BenchResult> measureHere(const BenchRequest& request, const BenchSetup& setup,
                                     BenchReport& report)
{
    const Protocol protocol = protocolOf(request);
    LoopSettings loop = setup.loop;
    loop.filtersSimilar = false; // what is not computed is not measured
    const std::vector<float> strict = strictEvaluation(setup); // one network at a time
    DrivenNetwork driven(setup.subject, setup.switches, loop, setup.frames);
    const NumericError error = numericError(driven.evaluation(), strict);
    const DevicePeaks peaks = peaksOf(request);
    double peak = peaks.flops(setup.switches.precision);
    std::vector<BenchResult> results;
    SystemWatch watch(request.device->info().uuid);
    results.push_back(driven.measure("frames", protocol));
    const WatchReport seen = watch.stop();
    for (const double rate : kPacedRates)
        results.push_back(driven.measure(fmt::format("paced {:g}", rate), paced(protocol, rate)));
    if (peaks.isMeasured) // a roof is not below what was reached
        for (const BenchResult& result : results)
            peak = std::max(peak, result.bestFlops());
    for (BenchResult& result : results) {
        result.numeric = error;
        if (peak > 0)
            result.peakFlops = peak;
    }
    results.front().powerWatts = seen.meanPowerWatts();
    report.environment["during"] = seen.toJson();
    report.environment["disturbances"] = seen.disturbances();
    return results;
}

/// Each repeat in a process of its own, then joined by id.
std::vector<BenchResult> measureAfresh(const BenchRequest& request, int repeats,
                                       BenchReport& report)
{
    std::vector<BenchReport> reports;
    for (int i = 0; i < repeats; ++i) {
        say(request, fmt::format("Repeat {} of {}", i + 1, repeats));
        reports.push_back(reportFromJson(request.measureAfresh(), "the repeat's report"));
    }
    report.environment = reports.front().environment;
    std::vector<BenchResult> results;
    for (const BenchResult& first : reports.front().results) {
        std::vector<BenchResult> same;
        for (const BenchReport& one : reports) {
            if (const BenchResult* found = one.find(first.id))
                same.push_back(*found);
        }
        results.push_back(joined(same));
    }
    return results;
}

TextTable tableOf(const BenchReport& report)
{
    TextTable table{{"measurement", "frames/s", "p50 ms", "p95 ms", "p99 ms", "pipeline p50 ms",
                     "jitter ms", "over 40 ms", "over 16 ms", "dropped", "evals/s", "MFU",
                     "steady memory", "PSNR dB"},
                    {}};
    for (const BenchResult& result : report.results) {
        const Summary device = summarise(result.deviceUs), whole = summarise(result.pipelineUs);
        const auto share = [&](double budgetMs) {
            return fmt::format(
                "{:.1f} %", 100 * static_cast<double>(misses(result.pipelineUs, 1000 * budgetMs)) /
                                static_cast<double>(result.pipelineUs.size()));
        };
        const auto mfu = result.modelFlopUtilisation();
        table.rows.push_back({result.id, shortNumber(result.framesPerSecond),
                              shortNumber(device.p50() / 1000), shortNumber(device.p95 / 1000),
                              shortNumber(device.p99 / 1000), shortNumber(whole.p50() / 1000),
                              shortNumber(result.jitterMs), share(kRelaxedBudgetMs),
                              share(kTightBudgetMs), std::to_string(result.dropped),
                              shortNumber(result.evaluationsPerSecond),
                              mfu ? fmt::format("{:.1f} %", 100 * *mfu) : "–",
                              byteNumber(static_cast<double>(result.memory.steady())),
                              result.numeric ? shortNumber(result.numeric->psnr) : "–"});
    }
    return table;
}

std::string headOf(const BenchReport& report, const BenchSetup& setup)
{
    std::string text =
        fmt::format("# {} on {}\n\n", setup.subject.model, environmentBadge(report.environment));
    for (const auto& sentence : report.environment.value("disturbances", nlohmann::json::array()))
        text += "**Disturbed:** " + sentence.get<std::string>() + '\n';
    for (const BenchResult& result : report.results) {
        if (!result.isSettled && result.id == "frames")
            text += "**Unsettled:** the warm-up ended at its cap, before the times agreed.\n";
    }
    return text;
}

/// Compares and keeps as the request asks.
void settle(const BenchRequest& request, const BenchReport& report, BenchAnswer& answer)
{
    const BaselineStore store(request.store);
    if (request.compareWith) {
        const Comparison comparison =
            compare(store.load(*request.compareWith), report, request.isForced);
        answer.exitCode = static_cast<int>(comparison.status);
        answer.markdown += '\n' + comparison.markdown();
        answer.report["comparison"] = comparison.toJson();
    }
    if (request.saveAs) {
        store.save(*request.saveAs, report);
        answer.markdown += fmt::format("\nKept as `{}`.\n", *request.saveAs);
    }
}

/// A claim's two precisions, everything else as the baseline has it.
ClaimPair claimPair(const BenchRequest& request, const BenchSetup& setup,
                    const BenchSubject& subject)
{
    const Protocol protocol = protocolOf(request);
    Switches switches = baselineSwitches();
    ClaimPair pair;
    pair.model = subject.model;
    const auto measured = [&] {
        DrivenNetwork driven(subject, switches, setup.loop, setup.frames);
        return driven.measure("frames", protocol);
    };
    say(request, fmt::format("{}, fp32", subject.model));
    pair.full = measured();
    for (const Precision precision : {Precision::Fp16, Precision::Bf16}) {
        if (pair.half || !precisionChoice(*request.device, precision).isAvailable)
            continue;
        switches.precision = precision;
        pair.halfName = nameOf(precision);
        say(request, fmt::format("{}, {}", subject.model, pair.halfName));
        pair.half = measured();
    }
    return pair;
}

std::vector<ClaimCheck> measuredClaims(const BenchRequest& request, const BenchSetup& setup)
{
    std::vector<ClaimPair> pairs;
    for (const BenchSubject& replica : setup.replicas)
        pairs.push_back(claimPair(request, setup, replica));
    const bool isReplica = std::ranges::any_of(setup.replicas, [&](const BenchSubject& replica) {
        return replica.model == setup.subject.model;
    });
    if (!isReplica)
        pairs.push_back(claimPair(request, setup, setup.subject));
    return checkClaims(pairs);
}

} // namespace

void say(const BenchRequest& request, const std::string& line)
{
    if (request.progress)
        request.progress(line);
}

Protocol protocolOf(const BenchRequest& request)
{
    return request.seconds ? Protocol::within(*request.seconds) : Protocol{};
}

DevicePeaks peaksOf(const BenchRequest& request)
{
    if (const DevicePeaks* known = findPeaks(request.device->info().name))
        return *known;
    return request.device->isCpu() ? measureRoofs(request.device)
                                   : measureRoofs(request.device, 8192, std::size_t{1} << 30);
}

BenchReport emptyReport(const BenchRequest& request, const BenchSetup& setup)
{
    BenchReport report;
    report.environment = captureEnvironment(*request.device);
    report.config = setup.config;
    report.config["model"] = setup.subject.model;
    report.config["switches"] = toJson(setup.switches);
    report.protocol = toJson(protocolOf(request));
    return report;
}

BenchAnswer runMode(const BenchRequest& request, const BenchSetup& setup)
{
    BenchReport report = emptyReport(request, setup);
    const int repeats = request.repeats > 0 ? request.repeats : protocolOf(request).repeats;
    report.protocol["repeats"] = repeats;
    report.results = repeats > 1 && request.measureAfresh ? measureAfresh(request, repeats, report)
                                                          : measureHere(request, setup, report);
    BenchAnswer answer;
    const TextTable table = tableOf(report);
    answer.markdown = headOf(report, setup) + '\n' + table.markdown();
    answer.csv = table.csv();
    answer.report = toJson(report);
    settle(request, report, answer);
    return answer;
}

BenchAnswer abMode(const BenchRequest& request, const BenchSetup& setup)
{
    const std::vector<AbStep> plan =
        abPlan(abTechniques(*request.device, setup.subject.whyNoTensorRt()), setup.loop.steps);
    BenchReport report = emptyReport(request, setup);
    StreamTarget target(setup.subject, setup.loop, setup.frames, protocolOf(request));
    AbRun run(target, plan);
    for (std::size_t i = 0; i < plan.size(); ++i) {
        say(request, fmt::format("{} of {}: {} {}", i + 1, plan.size(), nameOf(plan[i].part),
                                 plan[i].technique));
        run.next();
    }
    const std::vector<ClaimCheck> claims = measuredClaims(request, setup);
    report.results = {run.entries().front().measurement->result};
    report.claims = toJson(claims);
    BenchAnswer answer;
    answer.markdown = fmt::format("{}{}\n## Claims\n\n{}", headOf(report, setup),
                                  abMarkdown(run.entries()), claimsMarkdown(claims));
    answer.csv = abCsv(run.entries());
    answer.report = toJson(report);
    answer.report["ab"] = toJson(run.entries());
    return answer;
}

BenchAnswer claimsMode(const BenchRequest& request, const BenchSetup& setup)
{
    BenchReport report = emptyReport(request, setup);
    const std::vector<ClaimCheck> claims = measuredClaims(request, setup);
    report.claims = toJson(claims);
    BenchAnswer answer;
    answer.markdown = headOf(report, setup) + claimsMarkdown(claims);
    answer.report = toJson(report);
    return answer;
}

BenchAnswer baselinesMode(const BenchRequest& request, const BenchSetup&)
{
    TextTable table{{"name", "measured", "where", "configuration"}, {}};
    for (const BaselineEntry& entry : BaselineStore(request.store).list())
        table.rows.push_back({entry.name, entry.savedAt,
                              entry.problem.empty() ? entry.badge : entry.problem,
                              entry.configHash.substr(0, 12)});
    BenchAnswer answer;
    answer.markdown = table.rows.empty() ? "Nothing was kept yet.\n" : table.markdown();
    answer.csv = table.csv();
    answer.report = {{"baselines", table.rows}};
    return answer;
}

namespace {

struct Mode {
    const char* name;
    const char* help;
    BenchAnswer (*run)(const BenchRequest&, const BenchSetup&);
};

constexpr Mode kModes[] = {
    {"run", "Frames per second, latencies, memory and numbers of the configuration.", runMode},
    {"ab", "Each technique alone, cumulated and left out, against strict fp32; then claims.",
     abMode},
    {"claims", "Published claims, measured again by their method and by an honest one.",
     claimsMode},
    {"profile", "Time, work and bound of every operation, with what they leave unaccounted.",
     profileMode},
    {"memory", "Bytes by operation, the largest tensors, and what other settings would take.",
     memoryMode},
    {"validate", "Which products miss the tensor cores, and what padding them would cost.",
     validateMode},
    {"targets", "Which time budgets the device could hold, and which it does.", targetsMode},
    {"seed", "Rows of the published benchmark: Replica-B in three widths, five evaluations each.",
     seedMode},
    {"baselines", "What was kept under which name.", baselinesMode}};

} // namespace

std::vector<BenchMode> liveBenchModes()
{
    std::vector<BenchMode> modes;
    for (const Mode& mode : kModes)
        modes.push_back({mode.name, mode.help});
    return modes;
}

BenchAnswer runLiveBench(const BenchRequest& request, const BenchSetup& setup)
{
    for (const Mode& mode : kModes) {
        if (request.mode == mode.name)
            return mode.run(request, setup);
    }
    throw ContractError(fmt::format("There is no benchmark `{}`.", request.mode));
}

} // namespace vergence::live
