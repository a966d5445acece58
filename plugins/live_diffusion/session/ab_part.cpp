#include "plugins/live_diffusion/session/ab_part.h"

#include <algorithm>
#include <cmath>

#include "core/artifact/json_text.h"
#include "core/artifact/plot/drawing_files.h"
#include "core/base/clock.h"
#include "core/run/publish.h"
#include "plugins/live_diffusion/bench/claims.h"
#include "plugins/live_diffusion/bench/environment.h"
#include "plugins/live_diffusion/view/ab_charts.h"

namespace vergence::live {

namespace {

constexpr int kInputFrames = 32;     // shown in turn
constexpr int kComparedFrames = 100; // of the streams
constexpr int kComparedInHaste = 10;
constexpr double kWarmCap = 2; // s
constexpr double kWarmShare = 0.25;
constexpr const char* kOutOfTime = "Left out: the time given was over.";

Protocol protocolFor(const LiveDiffusionConfig& config, double secondsPerRow)
{
    Protocol protocol;
    protocol.frames = std::max(1, config.abFrames);
    protocol.seconds = 0;
    protocol.repeats = 1;
    protocol.warmFrames = std::clamp(config.abFrames / 4, 1, protocol.warmFrames);
    protocol.warmSeconds = 0;
    protocol.warmWindow = std::max(1, protocol.warmFrames / 3);
    protocol.warmTolerance = 0.05;
    protocol.warmCapSeconds = std::min(kWarmCap, kWarmShare * secondsPerRow);
    protocol.capSeconds = secondsPerRow;
    return protocol;
}

/// Rows that tell most first: baseline, cumulative, alone, without.
void sortForHaste(std::vector<AbStep>& plan)
{
    const auto rank = [](const AbStep& step) {
        switch (step.part) {
        case AbPart::Baseline:
            return 0;
        case AbPart::Cumulative:
            return 1;
        case AbPart::Alone:
            return 2;
        default:
            return 3;
        }
    };
    std::ranges::stable_sort(plan, {}, rank);
}

/// What the rows say of the published claims: the baseline, and fp16 or bf16 alone on it.
std::vector<ClaimCheck> claimsOf(const std::vector<AbEntry>& entries, const std::string& model)
{
    ClaimPair pair;
    pair.model = model;
    for (const AbEntry& entry : entries) {
        if (!entry.measurement)
            continue;
        if (entry.step.part == AbPart::Baseline)
            pair.full = entry.measurement->result;
        const bool isHalf = entry.step.technique == "fp16" || entry.step.technique == "bf16";
        if (entry.step.part == AbPart::Alone && isHalf && !pair.half) {
            pair.half = entry.measurement->result;
            pair.halfName = entry.step.technique;
        }
    }
    return pair.half ? checkClaims({pair}) : std::vector<ClaimCheck>{};
}

std::int64_t measuredRows(const std::vector<AbEntry>& entries)
{
    return std::ranges::count_if(
        entries, [](const AbEntry& entry) { return entry.measurement.has_value(); });
}

double bestCumulative(const std::vector<AbEntry>& entries)
{
    double best = 1;
    for (const AbEntry& entry : entries) {
        if (entry.step.part == AbPart::Cumulative && std::isfinite(entry.speedUp))
            best = std::max(best, entry.speedUp);
    }
    return best;
}

} // namespace

std::vector<AbStep> AbRunPart::planned() const
{
    return abPlan(abTechniques(*m_networks.device(), m_networks.subject().whyNoTensorRt()),
                  std::max(1, m_networks.loop().steps));
}

void AbRunPart::begin(RunContext& context)
{
    m_hasBegun = true;
    m_run.reset();
    if (m_networks.config().network == NetworkKind::Oracle) {
        context.warn("W-AB", "The Oracle has no operations that switches could change.");
        return;
    }
    const LiveDiffusionConfig& config = m_networks.config();
    m_subject = m_networks.subject();
    m_plan = planned();
    const bool isHasty = config.abSeconds > 0;
    if (isHasty)
        sortForHaste(m_plan);
    const auto rows = static_cast<double>(
        std::ranges::count_if(m_plan, [](const AbStep& step) { return step.unavailable.empty(); }));
    const double perRow = isHasty ? config.abSeconds / rows : INFINITY;
    m_target.emplace(m_subject, m_networks.loop(), m_networks.frames(kInputFrames),
                     protocolFor(config, perRow), isHasty ? kComparedInHaste : kComparedFrames);
    m_run.emplace(*m_target, m_plan);
    m_seconds = 0;
}

bool AbRunPart::isOutOfTime() const
{
    const double most = m_networks.config().abSeconds;
    return most > 0 && m_run->done() > 0 && m_seconds >= most;
}

bool AbRunPart::advance(RunContext& context)
{
    if (stepsLeft() == 0)
        return false;
    const double start = steadySeconds();
    m_run->next();
    m_seconds += steadySeconds() - start;
    context.record("ab_rows", static_cast<double>(measuredRows(m_run->entries())));
    context.record("ab_speedup", bestCumulative(m_run->entries()));
    if (stepsLeft() == 0 || context.framesDue())
        show(context);
    return stepsLeft() > 0;
}

std::int64_t AbRunPart::stepsLeft() const
{
    if (!m_hasBegun)
        return static_cast<std::int64_t>(planned().size());
    if (!m_run || isOutOfTime())
        return 0;
    return static_cast<std::int64_t>(m_run->count() - m_run->done());
}

std::vector<AbEntry> AbRunPart::entries() const
{
    if (!m_run)
        return {};
    std::vector<AbEntry> entries = m_run->entries();
    for (std::size_t i = entries.size(); i < m_plan.size(); ++i) {
        AbEntry entry{m_plan[i]};
        if (entry.step.unavailable.empty())
            entry.step.unavailable = kOutOfTime;
        entries.push_back(std::move(entry));
    }
    return entries;
}

void AbRunPart::show(RunContext& context) const
{
    const std::vector<AbRow> rows = rowsOf(m_run->entries());
    publishDrawing(context, "ab", abWaterfall(rows));
    publishDrawing(context, "ab_table", abTable(rows));
    publishDrawing(context, "claims", claimsTable(claimsOf(m_run->entries(), m_subject.model)));
}

void AbRunPart::finish(RunContext& context)
{
    if (!m_run || m_run->done() == 0)
        return;
    ArtifactStore& artifacts = context.artifacts();
    const std::vector<AbEntry> all = entries();
    const auto claims = claimsOf(all, m_subject.model);
    std::string text = "# A/B run of " + m_subject.model + "\n\n" + abMarkdown(all);
    if (!claims.empty())
        text += "\n## Claims\n\n" + claimsMarkdown(claims);
    artifacts.writeText("ab/ab.md", text, "ab", "A/B run");
    artifacts.writeText("ab/ab.csv", abCsv(all), "ab", "A/B run, all columns");
    artifacts.writeText("ab/ab.json",
                        prettyJson({{"model", m_subject.model},
                                    {"environment", captureEnvironment(*m_networks.device())},
                                    {"rows", toJson(all)},
                                    {"claims", toJson(claims)}}),
                        "ab", "A/B run");
    const std::vector<AbRow> rows = rowsOf(all);
    plot::writeDrawing(artifacts, "ab/waterfall", abWaterfall(rows), "ab",
                       "What each technique takes off");
    plot::writeDrawing(artifacts, "ab/table", abTable(rows), "ab", "A/B run");
    if (!claims.empty())
        plot::writeDrawing(artifacts, "ab/claims", claimsTable(claims), "ab", "Published claims");
    show(context);
}

} // namespace vergence::live
