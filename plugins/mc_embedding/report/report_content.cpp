#include "plugins/mc_embedding/report/report_content.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plugins/mc_embedding/report/published.h"

namespace vergence::mc_embedding {

namespace {

struct Verdict {
    std::string sentence, tone;
};

/// The decision of section 8.2 over all models and T, pre-norm trace.
Verdict verdictOf(const StudyState& state)
{
    std::string usable, marginal;
    double needed = INFINITY;
    bool hasTrials = false;
    int largest = 0;
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        for (std::size_t t = 0; t < state.models[m].passes.size(); ++t) {
            const auto scores = scoresOf(state, {m, t, "trace_pre"});
            if (!scores || scores->rows < 2)
                continue;
            hasTrials = true;
            const int passes = state.models[m].passes[t];
            largest = std::max(largest, passes);
            const Reliability cell = reliability(*scores, passes);
            const std::string name = fmt::format("{} at T = {}", modelName(state, m), passes);
            if (cell.status == "usable")
                usable = name + (cell.certain ? " (the interval of ICC passes too)" : "");
            else if (cell.status == "marginal")
                marginal = name;
            if (const Figure enough = passesForIcc(cell, kIccGate); enough.exists())
                needed = std::min(needed, enough.value);
        }
    }
    if (!hasTrials)
        return {"No verdict: reliability needs at least two trials.", "mixed"};
    if (!usable.empty())
        return {"Go on: " + usable + " is usable – ρ ≥ 0.80, SNR ≥ 2 and ICC ≥ 0.75.", "good"};
    const std::string extend =
        std::isfinite(needed)
            ? fmt::format(" The Spearman–Brown law puts ICC 0.75 at T ≈ {:.0f} for the best model.",
                          std::ceil(needed))
            : "";
    if (!marginal.empty())
        return {"Extend T: " + marginal + " is marginal, nothing is usable." + extend, "mixed"};
    if (largest >= 256)
        return {"Stop: every model fails up to T = 256." + extend, "bad"};
    return {"Nothing is usable up to T = " + std::to_string(largest) + "." + extend, "bad"};
}

std::string range(const Figure& low, const Figure& high)
{
    return low.exists() && high.exists()
               ? fmt::format("{} … {}", shortNumber(low.value), shortNumber(high.value))
               : "";
}

ReportTable reliabilityTable(const StudyState& state)
{
    ReportTable table{"Reliability of every model, T and space",
                      {{{"model"},
                        {"T"},
                        {"space"},
                        {"signal"},
                        {"noise"},
                        {"SNR"},
                        {"ICC"},
                        {"ICC 95 %"},
                        {"ρ median"},
                        {"ρ quartiles"},
                        {"status"}}},
                      {}};
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        const ModelStudy& model = state.models[m];
        for (std::size_t t = 0; t < model.passes.size(); ++t) {
            for (const char* metric : {"trace_pre", "trace_post"}) {
                const auto scores = scoresOf(state, {m, t, metric});
                if (!scores)
                    continue;
                const bool isPost = std::string(metric) == "trace_post";
                const Reliability cell = reliability(*scores, model.passes[t]);
                const auto published =
                    publishedReliability(model.tower.key, model.passes[t], isPost);
                const auto grey = [&](double PublishedReliability::*member, int digits = 3) {
                    return published ? shortNumber((*published).*member, digits) : "";
                };
                table.rows.push_back(
                    {{modelName(state, m)},
                     {std::to_string(model.passes[t])},
                     {isPost ? "post" : "pre"},
                     {shortNumber(cell.signal.value), grey(&PublishedReliability::signal)},
                     {shortNumber(cell.noise.value), grey(&PublishedReliability::noise)},
                     {shortNumber(cell.snr.value), grey(&PublishedReliability::snr)},
                     {shortNumber(cell.icc.value), grey(&PublishedReliability::icc)},
                     {range(cell.iccLow, cell.iccHigh)},
                     {shortNumber(cell.spearmanMedian.value),
                      grey(&PublishedReliability::spearman)},
                     {range(cell.spearmanQ25, cell.spearmanQ75),
                      published ? fmt::format("{:.3f} … {:.3f}", published->q25, published->q75)
                                : ""},
                     {cell.status + (cell.drifts ? ", trials drift" : ""),
                      published ? published->status : "",
                      cell.status == "failed" ? "warning" : "text"}});
            }
        }
    }
    table.notes = {"Grey: as published, with biased variances. Gates: ρ ≥ 0.80, SNR ≥ 2, "
                   "ICC ≥ 0.75; failed below ρ 0.60 or SNR 1. Later documents of the original used "
                   "ρ > 0.5 as gate; it is not used here."};
    return table;
}

ReportSection settingsSection(const StudyState& state)
{
    ReportSection section{"Settings", {}, {}, {}, {}};
    ReportTable table{"", {{{"setting"}, {"value"}}}, {}};
    for (const auto& [key, value] : state.settings)
        table.rows.push_back({{key}, {value}});
    table.rows.push_back({{"device"}, {state.device}});
    table.rows.push_back({{"images"}, {std::to_string(state.images.images.size())}});
    section.tables.push_back(std::move(table));
    ReportTable models{"Models",
                       {{{"model"},
                         {"placement"},
                         {"p"},
                         {"live sites"},
                         {"K"},
                         {"T"},
                         {"images"},
                         {"activation"},
                         {"precision"},
                         {"variance"},
                         {"weights"}}},
                       {}};
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        const ModelStudy& model = state.models[m];
        models.rows.push_back({{modelName(state, m)},
                               {model.placement},
                               {fmt::format("{:g}", model.p)},
                               {std::to_string(model.sites.size())},
                               {std::to_string(model.trials)},
                               {fmt::format("{}", fmt::join(model.passes, ", "))},
                               {std::to_string(model.imagesDone)},
                               {model.activation},
                               {model.precision},
                               {model.variance},
                               {model.weightsSha256.empty() ? model.weightsSource
                                                            : model.weightsSha256.substr(0, 12)}});
        for (const std::string& warning : model.warnings)
            section.list.push_back(modelName(state, m) + ": " + warning);
    }
    for (const auto& [key, reason] : state.skippedModels)
        section.list.push_back(key + " was left out: " + reason);
    for (const std::string& image : state.skippedImages)
        section.list.push_back("Skipped image – " + image);
    section.tables.push_back(std::move(models));
    return section;
}

ReportSection resultsSection(const StudyState& state)
{
    ReportSection section{"Results", {}, {}, {}, {}};
    ReportTable comparison{"Models beside the published values", comparisonRows(state), {}};
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        const std::string reason = deviationReason(state.models[m]);
        const auto known = publishedModel(state.models[m].tower.key);
        if (!reason.empty())
            comparison.notes.push_back("† " + modelName(state, m) + ": in the original " + reason +
                                       ".");
        if (known && !known->ambiguityReason.empty() && state.models[m].ambiguity)
            comparison.notes.push_back("† " + modelName(state, m) + ", AUROC: in the original " +
                                       known->ambiguityReason + ".");
    }
    section.tables.push_back(std::move(comparison));
    section.tables.push_back(reliabilityTable(state));
    return section;
}

} // namespace

Report reportOf(const StudyState& state)
{
    const Verdict verdict = verdictOf(state);
    Report report{
        "Monte-Carlo dropout on frozen image encoders", verdict.sentence, verdict.tone, {}};
    report.sections.push_back(
        {"Question",
         {"How far does an embedding move when units of a frozen encoder are switched off at "
          "random, is that amount repeatable per image, and does it mean anything?",
          "Every image passes T times through the network under different masks; its score is the "
          "variance of the features over the passes, averaged over dimensions. K trials repeat "
          "this, and the K × N scores tell whether images are ranked the same again."},
         {},
         {},
         {}});
    report.sections.push_back(settingsSection(state));
    report.sections.push_back(resultsSection(state));
    report.sections.push_back(
        {"Known deviations from the original", {}, knownDeviations(), {}, {}});
    report.sections.push_back(
        {"Reproduction",
         {"In the folder of this run; masks depend on seed, image, trial, pass and site alone, so "
          "batch sizes and devices do not change them:"},
         {"vergence run config.toml",
          fmt::format("seed {}, image set {}", state.seed, state.images.digest().substr(0, 16))},
         {},
         {}});
    return report;
}

} // namespace vergence::mc_embedding
