#include "plugins/light_field/result.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::light_field {

namespace {

/// JSON has no NaN and no infinity; null and strings stand for them.
nlohmann::json number(double value)
{
    if (std::isfinite(value))
        return value;
    return std::isnan(value) ? nlohmann::json() : nlohmann::json(value > 0 ? "inf" : "-inf");
}

double numberFrom(const nlohmann::json& json)
{
    if (json.is_null())
        return std::numeric_limits<double>::quiet_NaN();
    if (json.is_string())
        return json == "inf" ? std::numeric_limits<double>::infinity()
                             : -std::numeric_limits<double>::infinity();
    return json.get<double>();
}

nlohmann::json qualityJson(const Quality& quality)
{
    nlohmann::json states = nlohmann::json::array();
    for (const double value : quality.statePsnrRoi)
        states.push_back(number(value));
    return {{"mse", number(quality.mse)},           {"psnr", number(quality.psnr)},
            {"psnr_roi", number(quality.psnrRoi)},  {"ssim", number(quality.ssim)},
            {"contrast", number(quality.contrast)}, {"states", states}};
}

Quality qualityFrom(const nlohmann::json& json)
{
    Quality quality;
    quality.mse = numberFrom(json.at("mse"));
    quality.psnr = numberFrom(json.at("psnr"));
    quality.psnrRoi = numberFrom(json.at("psnr_roi"));
    quality.ssim = numberFrom(json.at("ssim"));
    quality.contrast = numberFrom(json.at("contrast"));
    for (const auto& value : json.at("states"))
        quality.statePsnrRoi.push_back(numberFrom(value));
    return quality;
}

nlohmann::json historyJson(const HistoryPoint& point)
{
    const IterationRecord& r = point.record;
    return {r.iteration,
            number(r.loss),
            number(r.mse),
            number(r.psnr),
            number(r.gradientNorm),
            number(r.shareAtZero),
            number(r.shareAtOne),
            r.forwardSeconds,
            r.adjointSeconds,
            r.raysPerSecond,
            number(point.heldOutPsnr),
            point.seconds};
}

HistoryPoint historyFrom(const nlohmann::json& json)
{
    HistoryPoint point;
    IterationRecord& r = point.record;
    r.iteration = json.at(0).get<int>();
    r.loss = numberFrom(json.at(1));
    r.mse = numberFrom(json.at(2));
    r.psnr = numberFrom(json.at(3));
    r.gradientNorm = numberFrom(json.at(4));
    r.shareAtZero = numberFrom(json.at(5));
    r.shareAtOne = numberFrom(json.at(6));
    r.forwardSeconds = json.at(7).get<double>();
    r.adjointSeconds = json.at(8).get<double>();
    r.raysPerSecond = json.at(9).get<double>();
    point.heldOutPsnr = numberFrom(json.at(10));
    point.seconds = json.at(11).get<double>();
    return point;
}

const ItemResult* resultOf(int index, const std::vector<SweepItem>& items,
                           const std::vector<ItemResult>& results)
{
    const int wanted = items[static_cast<std::size_t>(index)].sameAs >= 0
                           ? items[static_cast<std::size_t>(index)].sameAs
                           : index;
    for (const ItemResult& result : results) {
        if (result.index == wanted)
            return &result;
    }
    return nullptr;
}

} // namespace

nlohmann::json toJson(const ItemResult& result)
{
    nlohmann::json history = nlohmann::json::array();
    for (const HistoryPoint& point : result.history)
        history.push_back(historyJson(point));
    return {{"index", result.index},
            {"iterations", result.iterations},
            {"seconds", result.seconds},
            {"mse_first", number(result.mseFirst)},
            {"mse_final", number(result.mseFinal)},
            {"training", qualityJson(result.training)},
            {"held_out", qualityJson(result.heldOut)},
            {"training_focus", result.trainingFocus},
            {"held_out_focus", result.heldOutFocus},
            {"failure", result.failure},
            {"history", history}};
}

ItemResult resultFromJson(const nlohmann::json& json)
{
    try {
        ItemResult result;
        result.index = json.at("index").get<int>();
        result.iterations = json.at("iterations").get<int>();
        result.seconds = json.at("seconds").get<double>();
        result.mseFirst = numberFrom(json.at("mse_first"));
        result.mseFinal = numberFrom(json.at("mse_final"));
        result.training = qualityFrom(json.at("training"));
        result.heldOut = qualityFrom(json.at("held_out"));
        // Runs saved by the first version lack these two.
        result.trainingFocus = json.value("training_focus", std::vector<double>());
        result.heldOutFocus = json.value("held_out_focus", std::vector<double>());
        result.failure = json.at("failure").get<std::string>();
        for (const auto& point : json.at("history"))
            result.history.push_back(historyFrom(point));
        return result;
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint's results are damaged: ") + failure.what());
    }
}

std::string lossCsv(const ItemResult& result)
{
    std::string text = "iteration,loss,mse,psnr_train,psnr_heldout,gradient_norm,share_at_zero,"
                       "share_at_one,forward_ms,"
                       "adjoint_ms,rays_per_s,seconds\n";
    for (const HistoryPoint& point : result.history) {
        const IterationRecord& r = point.record;
        const auto known = [](double value) {
            return std::isnan(value) ? std::string() : fmt::format("{:.6g}", value);
        };
        text += fmt::format("{},{:.9g},{:.9g},{:.6g},{},{},{},{},{:.4g},{:.4g},{:.4g},{:.4f}\n",
                            r.iteration, r.loss, r.mse, r.psnr, known(point.heldOutPsnr),
                            known(r.gradientNorm), known(r.shareAtZero), known(r.shareAtOne),
                            r.forwardSeconds * 1e3, r.adjointSeconds * 1e3, r.raysPerSecond,
                            point.seconds);
    }
    return text;
}

std::string sweepCsv(const std::vector<SweepItem>& items, const std::vector<ItemResult>& results)
{
    std::string text = "n,s,label,mse_first,mse_final,psnr_all,psnr_roi,psnr_heldout,ssim,contrast,"
                       "seconds,iterations,"
                       "ssim_heldout,contrast_heldout,same_as,failure\n";
    for (std::size_t i = 0; i < items.size(); ++i) {
        const SweepItem& item = items[i];
        const ItemResult* result = resultOf(static_cast<int>(i), items, results);
        if (!result)
            continue;
        const std::string label = item.cellSize > 0 && item.config.sweep == "boards"
                                      ? fmt::format("{}", 1000 / item.cellSize)
                                      : item.label;
        const std::string sameAs =
            item.sameAs >= 0 ? items[static_cast<std::size_t>(item.sameAs)].folder : "";
        text += fmt::format(
            "{:g},{},{},{:.9g},{:.9g},{:.4f},{:.4f},{:.4f},{:.5f},{:.5f},{:.3f},{},{:.5f},{:.5f},{}"
            ",\"{}\"\n",
            item.x, item.cellSize, label, result->mseFirst, result->mseFinal, result->training.psnr,
            result->training.psnrRoi, result->heldOut.psnrRoi, result->training.ssim,
            result->training.contrast, result->seconds, result->iterations, result->heldOut.ssim,
            result->heldOut.contrast, sameAs, result->failure);
    }
    return text;
}

nlohmann::json sweepTable(const std::string& axis, const std::vector<SweepItem>& items,
                          const std::vector<ItemResult>& results)
{
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t i = 0; i < items.size(); ++i) {
        const ItemResult* r = resultOf(static_cast<int>(i), items, results);
        if (r && r->failure.empty())
            rows.push_back({items[i].x, number(r->training.psnrRoi), number(r->heldOut.psnrRoi),
                            number(r->training.ssim), number(r->heldOut.ssim),
                            number(r->training.contrast), number(r->heldOut.contrast)});
    }
    return {{"id", "sweep"},
            {"title", "Sweep"},
            {"columns",
             {axis, "ROI PSNR training (dB)", "ROI PSNR held out (dB)", "SSIM training",
              "SSIM held out", "Contrast training", "Contrast held out"}},
            {"rows", rows}};
}

namespace {

/// Mean ROI PSNR per accommodation.
std::map<double, double> byFocus(const std::vector<double>& focus, const Quality& quality)
{
    std::map<double, std::pair<double, int>> sums;
    for (std::size_t i = 0; i < std::min(focus.size(), quality.statePsnrRoi.size()); ++i) {
        auto& [sum, count] = sums[focus[i]];
        sum += quality.statePsnrRoi[i];
        ++count;
    }
    std::map<double, double> means;
    for (const auto& [accommodation, sum] : sums)
        means[accommodation] = sum.first / sum.second;
    return means;
}

nlohmann::json
focusTable(const char* id, const char* title,
           const std::vector<std::pair<std::string, std::map<double, double>>>& curves)
{
    std::set<double> abscissa;
    nlohmann::json columns{"accommodation (D)"};
    for (const auto& [label, curve] : curves) {
        columns.push_back(label);
        for (const auto& [accommodation, value] : curve)
            abscissa.insert(accommodation);
    }
    nlohmann::json rows = nlohmann::json::array();
    for (const double accommodation : abscissa) {
        nlohmann::json row{accommodation};
        for (const auto& [label, curve] : curves) {
            const auto found = curve.find(accommodation);
            row.push_back(found == curve.end() ? nlohmann::json() : number(found->second));
        }
        rows.push_back(row);
    }
    return {{"id", id}, {"title", title}, {"columns", columns}, {"rows", rows}};
}

} // namespace

std::vector<nlohmann::json> focusTables(const std::vector<SweepItem>& items,
                                        const std::vector<ItemResult>& results)
{
    std::vector<std::pair<std::string, std::map<double, double>>> training, heldOut;
    bool varies = false;
    for (const ItemResult& result : results) {
        if (!result.failure.empty())
            continue;
        const std::string& label = items[static_cast<std::size_t>(result.index)].label;
        training.emplace_back(label, byFocus(result.trainingFocus, result.training));
        heldOut.emplace_back(label, byFocus(result.heldOutFocus, result.heldOut));
        varies = varies || training.back().second.size() > 1;
    }
    if (!varies)
        return {};
    return {focusTable("focus_training", "ROI PSNR over focus, training (dB)", training),
            focusTable("focus_heldout", "ROI PSNR over focus, held out (dB)", heldOut)};
}

} // namespace vergence::light_field
