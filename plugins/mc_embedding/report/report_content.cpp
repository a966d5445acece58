#include "plugins/mc_embedding/report/report_content.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plugins/mc_embedding/mc_embedding_config.h"
#include "plugins/mc_embedding/report/published.h"
#include "plugins/mc_embedding/statistics/decision.h"
#include "plugins/mc_embedding/study/later_results.h"

namespace vergence::mc_embedding {

namespace {

/// What the gates say of one model, pre-norm trace.
struct ModelJudgement {
    std::string name;
    int enough = 0;   ///< smallest usable T; 0 for none
    Reliability last; ///< at its largest T
    int largest = 0;
    std::string degraded; ///< what degraded copies say; empty for none
};

/// "the score is higher for 19 % (blur5), 18 % (down4) of the degraded copies, gate 75 %"
std::string degradationOf(const ModelStudy& model)
{
    std::vector<std::string> shares;
    for (const DegradedScores& degraded : model.degraded) {
        if (model.passes.empty() || degraded.trace.size() < model.passes.size())
            continue;
        const DegradationOutcome outcome =
            degradationOutcome(model, degraded, model.passes.size() - 1);
        if (outcome.images > 0)
            shares.push_back(
                fmt::format("{:.0f} % ({})", 100 * outcome.fractionHigher, degraded.degradation));
    }
    return shares.empty()
               ? ""
               : fmt::format("the score is higher for {} of the degraded copies, gate {:.0f} %",
                             fmt::join(shares, ", "), 100 * kDegradationGate);
}

std::vector<ModelJudgement> judgements(const StudyState& state)
{
    std::vector<ModelJudgement> all;
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        ModelJudgement judgement;
        judgement.name = modelName(state, m);
        for (std::size_t t = 0; t < state.models[m].passes.size(); ++t) {
            const auto scores = scoresOf(state, {m, t, "trace_pre"});
            if (!scores || scores->rows < 2)
                continue;
            judgement.largest = state.models[m].passes[t];
            judgement.last = reliability(*scores, judgement.largest, state.models[m].alpha);
            if (judgement.last.status == "usable" && judgement.enough == 0)
                judgement.enough = judgement.largest;
        }
        judgement.degraded = degradationOf(state.models[m]);
        if (judgement.largest > 0)
            all.push_back(std::move(judgement));
    }
    return all;
}

std::string finding(const ModelJudgement& model)
{
    const Reliability& last = model.last;
    std::string text =
        fmt::format("{}: {} at T = {} – ICC {} [{}, {}], ρ {}, SNR {}", model.name, last.status,
                    model.largest, shortNumber(last.icc.value), shortNumber(last.iccLow.value),
                    shortNumber(last.iccHigh.value), shortNumber(last.spearmanMedian.value),
                    shortNumber(last.snr.value));
    if (model.enough > 0 && model.enough < model.largest)
        text += fmt::format("; T = {} is enough", model.enough);
    if (const Figure needed = passesForIcc(last, kIccGate); model.enough == 0 && needed.exists())
        text += fmt::format("; ICC 0.75 is predicted at T = {:.0f}", std::ceil(needed.value));
    text += last.drifts ? "; the trials drift" : "";
    return text + (model.degraded.empty() ? "." : "; " + model.degraded + ".");
}

/// The decision of section 8.2 over all models, pre-norm trace.
void judge(Report& report, const StudyState& state)
{
    const std::vector<ModelJudgement> models = judgements(state);
    std::vector<std::string> usable, marginal;
    std::vector<GateCell> cells;
    for (const ModelJudgement& model : models) {
        if (model.enough > 0)
            usable.push_back(fmt::format("{} {} T = {}", model.name,
                                         model.enough < model.largest ? "from" : "at",
                                         model.enough));
        else if (model.last.status == "marginal")
            marginal.push_back(model.name);
        cells.push_back({model.name, model.largest, false, model.last});
        report.findings.push_back(finding(model));
    }
    const GateDecision decision = gateDecision(cells);
    if (decision.isNegative)
        report.findings.push_back("Negative result: no model reaches an ICC of 0.5 at T = 64.");
    report.tone = !usable.empty() ? "good" : marginal.empty() && !models.empty() ? "bad" : "mixed";
    if (models.empty())
        report.verdict = "No verdict: reliability needs at least two trials.";
    else if (!usable.empty())
        report.verdict =
            fmt::format("Go on: {} of {} {} usable – {}.", usable.size(), models.size(),
                        models.size() == 1 ? "model is" : "models are", fmt::join(usable, ", "));
    else if (decision.kind == GateDecision::Kind::Stop)
        report.verdict = fmt::format("Stop: every model fails up to T = {}.", kFinalPasses);
    else
        report.verdict =
            "Extend T: nothing is usable yet" +
            (marginal.empty() ? std::string(".")
                              : fmt::format("; marginal: {}.", fmt::join(marginal, ", ")));
}

/// "3 models · 96 images · p = 0.05 · …", of the first model where models differ.
std::string factsOf(const StudyState& state)
{
    const std::size_t count = state.models.size();
    std::string facts = fmt::format("{} model{} · {} images", count, count == 1 ? "" : "s",
                                    state.images.images.size());
    if (count > 0) {
        const ModelStudy& first = state.models.front();
        facts += fmt::format(" · p = {:g} · {} · K = {} trials of T = {} passes", first.p,
                             first.placement, first.trials, fmt::join(first.passes, ", "));
    }
    return facts + fmt::format(" · seed {}{}", state.seed,
                               state.device.empty() ? "" : " · " + state.device);
}

std::string range(const Figure& low, const Figure& high)
{
    return low.exists() && high.exists()
               ? fmt::format("{} … {}", shortNumber(low.value), shortNumber(high.value))
               : "";
}

ReportTable reliabilityTable(const StudyState& state)
{
    const double alpha = state.models.empty() ? 0.05 : state.models.front().alpha;
    ReportTable table{{{{"model"},
                        {"T"},
                        {"space"},
                        {"signal"},
                        {"noise"},
                        {"SNR"},
                        {"ICC"},
                        {fmt::format("ICC {:g} %", 100 * (1 - alpha))},
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
                const Reliability cell = reliability(*scores, model.passes[t], model.alpha);
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

ReportTable modelsTable(const StudyState& state)
{
    ReportTable models{{{{"model"},
                         {"placement"},
                         {"p"},
                         {"live sites"},
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
                               {std::to_string(model.imagesDone)},
                               {model.activation},
                               {model.precision},
                               {model.variance},
                               {model.weightsSha256.empty() ? model.weightsSource
                                                            : model.weightsSha256.substr(0, 12)}});
    }
    return models;
}

ReportSection modelsSection(const StudyState& state)
{
    ReportSection section{"Models as measured"};
    for (std::size_t m = 0; m < state.models.size(); ++m)
        for (const std::string& warning : state.models[m].warnings)
            section.list.push_back(modelName(state, m) + ": " + warning);
    for (const auto& [key, reason] : state.skippedModels)
        section.list.push_back(key + " was left out: " + reason);
    for (const std::string& image : state.skippedImages)
        section.list.push_back("Skipped image – " + image);
    if (!state.models.empty())
        section.tables.push_back(modelsTable(state));
    return section;
}

/// The settings as they were given, in the order of the form; only those that differ from their
/// defaults, or all.
ReportTable settingsTable(const StudyState& state, bool onlyChanged)
{
    ReportTable table{{{{"setting"}, {"value"}, {"default"}}}, {}, true};
    std::map<std::string, std::string> unknown = state.settings;
    const ConfigSchema schema = mcEmbeddingSchema();
    for (const Field& field : schema.fields()) {
        const auto found = state.settings.find(field.key);
        const std::string usual = toToml(field.defaultValue);
        if (found == state.settings.end())
            continue;
        unknown.erase(field.key);
        if (!onlyChanged || found->second != usual)
            table.rows.push_back({{field.title, field.key}, {found->second}, {usual}});
    }
    for (const auto& [key, value] : unknown) // of another version
        table.rows.push_back({{key}, {value}, {""}});
    return table;
}

ReportSection resultsSection(const StudyState& state)
{
    ReportSection section{"Results"};
    ReportTable comparison{comparisonRows(state), {}};
    comparison.notes = {"Pre-norm trace at the largest T; AUROC: of high zero-shot entropy."};
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
    if (comparison.rows.size() > 1)
        section.tables.push_back(std::move(comparison));
    return section;
}

ReportSection folded(std::string title, ReportTable table)
{
    ReportSection section{std::move(title)};
    section.tables.push_back(std::move(table));
    section.isFolded = true;
    return section;
}

/// Tables of the later experiments, a section each.
std::vector<ReportSection> laterSections(const StudyState& state)
{
    std::vector<ReportSection> sections;
    for (const StudyTable& table : laterTables(state)) {
        ReportTable shown;
        shown.rows.emplace_back();
        for (const std::string& column : table.columns)
            shown.rows.front().push_back({column});
        for (const auto& row : table.rows) {
            auto& cells = shown.rows.emplace_back();
            for (const nlohmann::json& cell : row)
                cells.push_back({cell.is_string()           ? cell.get<std::string>()
                                 : cell.is_number_integer() ? cell.dump()
                                 : cell.is_number()         ? shortNumber(cell.get<double>())
                                                            : "–"});
        }
        if (!table.note.empty())
            shown.notes.push_back(table.note);
        sections.push_back({.title = table.title, .tables = {std::move(shown)}});
    }
    return sections;
}

} // namespace

Report reportOf(const StudyState& state, std::vector<ReportSection> figures)
{
    Report report;
    report.title = "Monte-Carlo dropout on frozen image encoders";
    report.lead =
        "How far does an embedding move when units of a frozen encoder are switched off at random, "
        "is that amount repeatable per image, and does it mean anything? Every image passes T "
        "times through the network under different masks; its score is the variance of the "
        "features over the passes, averaged over dimensions. K trials repeat this.";
    judge(report, state);
    report.facts = factsOf(state);
    std::vector<ReportSection>& sections = report.sections;
    sections.push_back(resultsSection(state));
    sections.push_back(folded("Reliability of every model, T and space", reliabilityTable(state)));
    std::ranges::move(laterSections(state), std::back_inserter(sections));
    std::ranges::move(figures, std::back_inserter(sections));
    ReportSection changed{"Settings that differ from their defaults"};
    changed.tables.push_back(settingsTable(state, true));
    sections.push_back(std::move(changed));
    sections.push_back(modelsSection(state));
    sections.push_back(folded("All settings", settingsTable(state, false)));
    sections.push_back({.title = "Known deviations from the original",
                        .list = knownDeviations(),
                        .isFolded = true});
    sections.push_back(
        {.title = "Reproduction",
         .paragraphs = {"In the folder of this run; masks depend on seed, image, trial, pass and "
                        "site alone, so batch sizes and devices do not change them:"},
         .list = {"vergence run config.toml", fmt::format("seed {}, image set {}", state.seed,
                                                          state.images.digest().substr(0, 16))}});
    return report;
}

} // namespace vergence::mc_embedding
