#include "plugins/live_diffusion/session/profile_part.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/plot/drawing_files.h"
#include "core/base/clock.h"
#include "core/run/publish.h"
#include "plugins/live_diffusion/bench/environment.h"
#include "plugins/live_diffusion/profile/op_costs.h"
#include "plugins/live_diffusion/profile/targets.h"
#include "plugins/live_diffusion/profile/text_table.h"
#include "plugins/live_diffusion/view/layer_charts.h"
#include "plugins/live_diffusion/view/memory_charts.h"
#include "plugins/live_diffusion/view/targets_table.h"

namespace vergence::live {

namespace {

constexpr int kEvaluations = 20, kFewestEvaluations = 3;
constexpr double kSecondsInPlace = 4;
constexpr int kReplays = 50; // of each operation alone
constexpr double kSecondsAlone = 8;
constexpr double kSecondsPerTarget = 1;
constexpr int kInputFrames = 8;

/// How many evaluations fit into the time; the first one, which prepares much, does not count.
int evaluationsFor(FrameNetwork& network)
{
    std::vector<float> picture(static_cast<std::size_t>(network.shape().values()), 0.1f);
    std::vector<float> prediction(picture.size()),
        logits(static_cast<std::size_t>(network.shape().cells()));
    const EvalRow row{picture, picture, picture};
    double seconds = 0;
    for (int i = 0; i < 2; ++i) {
        const double start = steadySeconds();
        network.evaluate({{&row, 1}}, {prediction, logits});
        seconds = steadySeconds() - start;
    }
    const double fit = kSecondsInPlace / std::max(2 * seconds, 1e-6); // observed and not
    return std::clamp(static_cast<int>(std::min(fit, 1e6)), kFewestEvaluations, kEvaluations);
}

std::vector<LayerTime> timesOf(const LayerProfile& profile)
{
    std::vector<LayerTime> times;
    for (const LayerRow& row : profile.rows) {
        const LayerBound bound = row.limit == OpLimit::Compute  ? LayerBound::Compute
                                 : row.limit == OpLimit::Memory ? LayerBound::Memory
                                                                : LayerBound::Latency;
        times.push_back({row.op.name, row.op.block, row.seconds * 1e6,
                         static_cast<double>(row.op.work), static_cast<double>(row.op.bytes),
                         bound});
    }
    return times;
}

std::vector<Roof> roofsOf(const std::vector<DevicePeaks>& peaks, Precision precision)
{
    std::vector<Roof> roofs;
    for (const DevicePeaks& one : peaks)
        roofs.push_back(
            {fmt::format("{} {}", nameOf(precision), one.isMeasured ? "measured" : "data sheet"),
             one.flops(precision), one.bandwidth, one.isMeasured});
    return roofs;
}

std::vector<MemoryStep> stepsOf(const MemoryProfile& profile, const FrameCost& cost)
{
    std::vector<MemoryStep> steps;
    for (const MemoryRow& row : profile.rows)
        steps.push_back({row.op, static_cast<double>(cost.weightBytes),
                         static_cast<double>(cost.cacheBytes), static_cast<double>(row.arena),
                         static_cast<double>(cost.workspaceBytes),
                         static_cast<double>(row.scores)});
    return steps;
}

nlohmann::json toJson(const FrameCost& cost)
{
    return {
        {"weight_bytes", cost.weightBytes},       {"arena_bytes", cost.arenaBytes},
        {"workspace_bytes", cost.workspaceBytes}, {"cache_bytes", cost.cacheBytes},
        {"graph_bytes", cost.graphBytes},         {"tuning_peak_bytes", cost.tuningPeakBytes},
        {"steady_bytes", cost.steadyBytes()},     {"kernels_per_evaluation", cost.kernelsPerEval},
        {"flop_per_evaluation", cost.flopPerRow}, {"threads", cost.threads}};
}

nlohmann::json toJson(const std::vector<WhatIf>& bars)
{
    auto list = nlohmann::json::array();
    for (const WhatIf& bar : bars)
        list.push_back({{"precision", nameOf(bar.precision)},
                        {"attention", nameOf(bar.attention)},
                        {"grid", bar.grid},
                        {"weight_bytes", bar.weights},
                        {"arena_bytes", bar.arena},
                        {"score_bytes", bar.scores}});
    return list;
}

nlohmann::json toJson(const std::vector<ShapeIssue>& issues)
{
    auto list = nlohmann::json::array();
    for (const ShapeIssue& issue : issues)
        list.push_back({{"operation", issue.op},
                        {"dimension", issue.dimension},
                        {"value", issue.value},
                        {"padded", issue.padded},
                        {"flop_growth", issue.flopGrowth},
                        {"sentence", issue.sentence}});
    return list;
}

nlohmann::json toJson(const std::vector<DevicePeaks>& peaks, Precision precision)
{
    auto list = nlohmann::json::array();
    for (const DevicePeaks& one : peaks)
        list.push_back({{"name", one.name},
                        {"measured", one.isMeasured},
                        {"flop_per_s", one.flops(precision)},
                        {"bytes_per_s", one.bandwidth}});
    return list;
}

} // namespace

void ProfilePart::begin(RunContext& context)
{
    m_hasBegun = true;
    m_stage = Stage::Done;
    m_subject = m_networks.subject();
    if (m_subject.program.ops.empty()) {
        context.warn("W-PROFILE", "The " + m_subject.model + " has no operations to profile.");
        return;
    }
    m_peaks.clear();
    m_network = nullptr;
    m_inPlace.reset();
    m_alone.reset();
    m_memory.reset();
    m_frameMs.clear();
    m_stage = Stage::Roofs;
}

std::int64_t ProfilePart::stepsLeft() const
{
    if (!m_hasBegun)
        return static_cast<std::int64_t>(Stage::Done);
    return static_cast<std::int64_t>(Stage::Done) - static_cast<std::int64_t>(m_stage);
}

bool ProfilePart::advance(RunContext& context)
{
    if (m_stage == Stage::Done)
        return false;
    run(m_stage, context);
    m_stage = static_cast<Stage>(static_cast<int>(m_stage) + 1);
    return m_stage != Stage::Done;
}

void ProfilePart::run(Stage stage, RunContext& context)
{
    switch (stage) {
    case Stage::Roofs:
        return findRoofs();
    case Stage::InPlace:
        return profileInPlace(context);
    case Stage::Memory:
        return profileMemory(context);
    case Stage::Alone:
        return profileAlone(context);
    case Stage::Targets1:
        return measureTarget(context, 1);
    case Stage::Targets2:
        return measureTarget(context, 2);
    case Stage::Targets4:
        return measureTarget(context, 4);
    case Stage::Done:
        return;
    }
}

void ProfilePart::findRoofs()
{
    const auto& device = m_networks.device();
    if (const DevicePeaks* known = findPeaks(device->info().name))
        m_peaks.push_back(*known);
    constexpr Index kCardEdge = 8192;
    constexpr std::size_t kCardBytes = std::size_t{1} << 30;
    m_peaks.push_back(device->isCpu() ? measureRoofs(device)
                                      : measureRoofs(device, kCardEdge, kCardBytes));
}

void ProfilePart::profileInPlace(RunContext& context)
{
    m_network = m_subject.build(m_networks.switches(), 1);
    const Precision precision = m_networks.switches().precision;
    LayerProfile inPlace =
        profileLayers(*m_network, m_peaks.front(), ProfileMode::InSitu, evaluationsFor(*m_network));
    m_peaks.front() = reached(m_peaks.front(), inPlace, precision);
    m_inPlace = judged(std::move(inPlace), m_peaks.front(), precision);
    m_cost = m_network->cost();
    Switches ideal; // fused, flash, the precision in use
    ideal.precision = precision;
    m_bound = lowerBound(opCosts(m_subject.program, ideal), m_peaks.front(), precision);
    const auto times = timesOf(*m_inPlace);
    publishDrawing(context, "roofline", roofline(times, roofsOf(m_peaks, precision)));
    publishDrawing(context, "layers", layerBars(times));
    context.record("profile_total_ms", m_inPlace->total * 1e3);
    if (m_inPlace->total > 0)
        context.record("profile_unaccounted", m_inPlace->unaccounted / m_inPlace->total);
}

void ProfilePart::profileMemory(RunContext& context)
{
    const Switches switches = m_networks.switches();
    m_memory = memoryProfile(m_subject.program, switches);
    const auto grid = static_cast<Index>(m_network->shape().gridHeight);
    if (m_subject.describe)
        m_whatIf = whatIf(m_subject.describe, std::vector<Index>{grid, 2 * grid}, switches.fusion);
    m_shapes = checkShapes(m_subject.program, switches);
    m_plans = checkPlans(m_network->operations(), switches.precision);
    publishDrawing(context, "memory", memoryTimeline(stepsOf(*m_memory, m_cost)));
}

void ProfilePart::measureTarget(RunContext& context, int steps)
{
    double ms = NAN;
    if (m_subject.isStream) {
        LoopSettings loop = m_networks.loop();
        loop.steps = steps;
        loop.isStreamBatch = false;
        loop.filtersSimilar = false;
        if (loop.sampler == SamplerKind::Turbo) // one step alone
            loop.sampler = SamplerKind::Ddim;
        DrivenNetwork driven(m_subject, m_networks.switches(), loop,
                             m_networks.frames(kInputFrames));
        ms = summarise(driven.measure("frames", Protocol::within(kSecondsPerTarget)).deviceUs)
                 .median /
             1000;
    }
    m_frameMs.push_back(ms);
    showTargets(context);
}

void ProfilePart::showTargets(RunContext& context) const
{
    Targets targets;
    targets.device = m_peaks.front().name;
    targets.model = m_subject.model;
    targets.boundMs = m_bound * 1e3;
    targets.measuredMs = m_frameMs;
    publishDrawing(context, "targets", targetsTable(targets));
}

void ProfilePart::profileAlone(RunContext& context)
{
    if (m_inPlace->total * kReplays <= kSecondsAlone)
        showAlone(context);
    m_network = nullptr; // weights of a large one fill a computer once
}

void ProfilePart::showAlone(RunContext& context)
{
    m_alone = profileLayers(*m_network, m_peaks.front(), ProfileMode::Isolated, kFewestEvaluations);
    LayerLook look;
    look.nameA = "in place";
    look.nameB = "alone";
    publishDrawing(context, "layers", layerBars(timesOf(*m_inPlace), timesOf(*m_alone), look));
}

std::string ProfilePart::markdown() const
{
    const Precision precision = m_networks.switches().precision;
    std::string text = fmt::format("# Profile of {}\n\n", m_subject.model);
    for (const DevicePeaks& one : m_peaks)
        text += fmt::format("Roofs of {} ({}): {} GFLOP/s, {} GB/s, ridge {} FLOP/B\n\n", one.name,
                            one.isMeasured ? "measured here" : "data sheet",
                            shortNumber(one.flops(precision) * 1e-9),
                            shortNumber(one.bandwidth * 1e-9), shortNumber(one.ridge(precision)));
    text += "## Operations in place\n\n" + m_inPlace->markdown();
    if (m_alone)
        text += "\n## Operations alone\n\n" + m_alone->markdown();
    if (m_memory)
        text += "\n## Memory\n\n" + m_memory->markdown();
    if (!m_whatIf.empty())
        text += "\n## What if\n\n" + whatIfMarkdown(m_whatIf);
    if (m_memory) // tensor cores were looked at in the same step
        text += "\n## Tensor cores: shapes\n\n" + shapeIssuesMarkdown(m_shapes) +
                "\n## Tensor cores: plans in use\n\n" + shapeIssuesMarkdown(m_plans);
    if (!m_frameMs.empty())
        text += "\n## Time budgets\n\n" +
                targetsMarkdown(m_peaks.front().name, m_subject.model, m_bound, m_frameMs);
    return text;
}

void ProfilePart::finish(RunContext& context)
{
    if (!m_inPlace)
        return;
    ArtifactStore& artifacts = context.artifacts();
    const Precision precision = m_networks.switches().precision;
    const FrameCost cost = m_cost;
    const auto times = timesOf(*m_inPlace);
    artifacts.writeText("profile/layers.csv", m_inPlace->csv(), "profile", "Operations");
    artifacts.writeText("profile/profile.md", markdown(), "profile", "Profile");
    nlohmann::json report = {{"model", m_subject.model},
                             {"environment", captureEnvironment(*m_networks.device())},
                             {"roofs", toJson(m_peaks, precision)},
                             {"cost", toJson(cost)},
                             {"bound_ms", m_bound * 1e3},
                             {"frame_ms", m_frameMs},
                             {"layers", m_inPlace->toJson()},
                             {"shapes", toJson(m_shapes)},
                             {"plans", toJson(m_plans)}};
    if (m_alone)
        report["layers_alone"] = m_alone->toJson();
    artifacts.writeText("profile/profile.json", prettyJson(report), "profile", "Profile");
    plot::writeDrawing(artifacts, "profile/roofline", roofline(times, roofsOf(m_peaks, precision)),
                       "profile", "Roofline");
    LayerLook look;
    look.nameA = "in place";
    look.nameB = "alone";
    plot::writeDrawing(artifacts, "profile/layers",
                       m_alone ? layerBars(times, timesOf(*m_alone), look) : layerBars(times),
                       "profile", "Time by operation");
    if (!m_memory)
        return;
    artifacts.writeText("profile/memory.json",
                        prettyJson({{"cost", toJson(cost)},
                                    {"timeline", m_memory->toJson()},
                                    {"what_if", toJson(m_whatIf)}}),
                        "profile", "Memory");
    plot::writeDrawing(artifacts, "profile/memory", memoryTimeline(stepsOf(*m_memory, cost)),
                       "profile", "Memory by operation");
    if (!m_frameMs.empty()) {
        Targets targets{m_peaks.front().name, m_subject.model, m_bound * 1e3};
        targets.measuredMs = m_frameMs;
        plot::writeDrawing(artifacts, "profile/targets", targetsTable(targets), "profile",
                           "Time budgets");
    }
}

} // namespace vergence::live
