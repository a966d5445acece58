#include <algorithm>
#include <functional>
#include <map>

#include "plugins/mc_embedding/study/later_results.h"
#include "plugins/mc_embedding/study/summaries.h"

namespace vergence::mc_embedding {

namespace {

using nlohmann::json;
using Row = std::vector<json>;
using Rows = std::vector<Row>;

/// The number of a summary, or what it says instead.
json cell(const json& object, const std::string& name)
{
    const auto found = object.find(name);
    if (found != object.end() && !found->is_null())
        return *found;
    return object.value(name + "_reason", std::string("–"));
}

Rows rowsOfWays(const json& summary, const json& names,
                const std::function<json(std::size_t)>& more)
{
    Rows rows;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto name = names[i].get<std::string>();
        const json& r = summary.at("reliability").at(name);
        rows.push_back({name, cell(r, "mean"), cell(r, "icc"), cell(r, "snr"), more(i),
                        summary.at("spearman_disattenuated")[0][i]});
    }
    return rows;
}

Rows exp1Rows(const json& s)
{
    return rowsOfWays(s, s.at("names"), [&](std::size_t) { return cell(s, "order_in_p"); });
}

Rows exp2Rows(const json& s)
{
    Rows rows;
    for (const json& group : s.at("groups"))
        rows.push_back({group.at("name"), group.at("num_images"), group.at("mean"),
                        cell(group, "standard_error"), cell(group, "higher_than_previous")});
    return rows;
}

Rows exp3Rows(const json& s)
{
    return rowsOfWays(s, s.at("names"), [&](std::size_t i) {
        return cell(s.at("types").at(s.at("names")[i].get<std::string>()), "anisotropy_median");
    });
}

Row predictionRow(const std::string& name, const json& q)
{
    return {name,
            cell(q, "spearman_neg_margin"),
            cell(q, "spearman_entropy"),
            cell(q, "spearman_prompt_sensitivity"),
            cell(q, "auroc_high_entropy"),
            cell(q, "auroc_error")};
}

Rows exp6Rows(const json& s)
{
    Rows rows;
    for (const char* name : {"lambda_1", "lambda_by_evidence"})
        rows.push_back(predictionRow(name, s.at(name).at("prediction")));
    return rows;
}

Rows exp7Rows(const json& s)
{
    if (!s.contains("prediction"))
        return {{"aleatoric", "–", "–", "–", "–", "–"}};
    Rows rows;
    for (const auto& [name, quality] : s.at("prediction").items())
        rows.push_back(predictionRow(name, quality));
    return rows;
}

Rows exp8Rows(const json& s)
{
    return {{s.at("rank"), s.at("null_share"), s.at("mean_inside_share"), s.at("num_images")}};
}

Rows exp9Rows(const json& s)
{
    Rows rows;
    for (const char* name : {"baseline", "adaptive", "oracle", "laplace"}) {
        if (s.contains(name))
            rows.push_back({name, s[name].at("accuracy"), s[name].at("id_switches"),
                            s[name].at("fragmentations"), s[name].at("detections")});
    }
    return rows;
}

Rows exp10Rows(const json& s)
{
    Rows rows;
    for (const auto& [name, style] : s.at("styles").items())
        rows.push_back(
            {name, style.at("num_prompts"), style.at("mean_trace"), style.at("mean_specificity")});
    rows.push_back({"Spearman, all", "", cell(s, "spearman_specificity"), ""});
    rows.push_back(
        {"Spearman within styles", "", cell(s, "spearman_specificity_within_styles"), ""});
    return rows;
}

Rows exp11Rows(const json& s)
{
    Rows rows;
    const auto best = s.at("best").get<std::size_t>();
    for (const std::size_t i : {std::size_t{0}, best}) {
        const json& candidate = s.at("candidates")[i];
        std::string rates;
        for (const json& rate : candidate.at("rates"))
            rates += (rates.empty() ? "" : ", ") + rate.dump().substr(0, 6);
        rows.push_back({i == 0 ? "p everywhere" : "best of the candidates", rates,
                        cell(candidate, "selection_objective"),
                        cell(candidate, "report_objective")});
        if (best == 0)
            break;
    }
    return rows;
}

Rows convergenceRows(const json& s)
{
    Rows rows;
    for (std::size_t i = 0; i < s.at("passes").size(); ++i)
        rows.push_back({s["passes"][i], s.at("squared_distance")[i], s.at("relative_distance")[i],
                        s.at("sampling_part")[i], s.at("bias2"), s.at("variance")});
    return rows;
}

struct TableKind {
    std::string title;
    std::vector<std::string> columns; ///< after the model
    Rows (*rows)(const json& summary);
    std::string note;
};

const std::map<std::string, TableKind>& tableKinds()
{
    const std::vector<std::string> prediction = {"score",     "ρ −margin",          "ρ entropy",
                                                 "ρ prompts", "AUROC high entropy", "AUROC error"};
    static const std::map<std::string, TableKind> kKinds = {
        {"exp1",
         {"Exp 1: ranks over the drop probability",
          {"p", "mean trace", "ICC", "SNR", "order in p", "ρ with the smallest p, corrected"},
          exp1Rows,
          "Order 1: the trace is proportional to p / (1 − p)."}},
        {"exp2",
         {"Exp 2: painted and natural pictures",
          {"group", "pictures", "mean trace", "standard error", "higher than the group before"},
          exp2Rows,
          "Expected to rise in this order."}},
        {"exp3",
         {"Exp 3: placements",
          {"placement", "mean trace", "ICC", "SNR", "anisotropy", "ρ with the first, corrected"},
          exp3Rows,
          ""}},
        {"exp6",
         {"Exp 6: linear leverage of the last layer", prediction, exp6Rows,
          "Not a Bayesian posterior of the network."}},
        {"exp7",
         {"Exp 7: spread over degraded copies beside dropout", prediction, exp7Rows,
          "A product of z-scores is high where both are far below the mean; it is not "
          "recommended."}},
        {"exp8",
         {"Exp 8: spread where texts differ",
          {"rank of the texts", "share without preference", "share inside", "images"},
          exp8Rows,
          ""}},
        {"exp9",
         {"Exp 9: association of a tracker",
          {"weights", "accuracy", "identity switches", "fragmentations", "detections"},
          exp9Rows,
          ""}},
        {"exp10",
         {"Exp 10: text tower",
          {"style", "prompts", "mean trace", "mean specificity"},
          exp10Rows,
          ""}},
        {"exp11",
         {"Exp 11: rates by depth",
          {"candidate", "rates", "objective, selection half", "objective, report half"},
          exp11Rows,
          "Chosen on one half of the images; only the other half tells whether it is better."}},
        {"mean_convergence",
         {"Mean of T passes and the feature without masks",
          {"T", "squared distance", "relative distance", "tr Σ / T", "bias²", "variance of a pass"},
          convergenceRows,
          "d² = bias² + v / T; without bias the distance falls as T to the power of −½."}},
    };
    return kKinds;
}

} // namespace

std::vector<StudyTable> laterTables(const StudyState& state)
{
    std::vector<StudyTable> tables;
    for (const std::string& experiment : laterExperiments()) {
        const TableKind& kind = tableKinds().at(experiment);
        StudyTable table{experiment, kind.title, {"model"}, {}, kind.note};
        table.columns.insert(table.columns.end(), kind.columns.begin(), kind.columns.end());
        for (const ModelStudy& study : state.models) {
            if (!isComplete(study) || !isMeasuredFor(study, experiment))
                continue;
            const json summary = laterSummary(state, study, experiment);
            if (summary.contains("reason")) {
                Row row(table.columns.size(), "");
                row[0] = study.label;
                row[1] = summary["reason"];
                table.rows.push_back(std::move(row));
                continue;
            }
            for (Row& row : kind.rows(summary)) {
                row.insert(row.begin(), study.label);
                table.rows.push_back(std::move(row));
            }
        }
        if (!table.rows.empty())
            tables.push_back(std::move(table));
    }
    return tables;
}

} // namespace vergence::mc_embedding
