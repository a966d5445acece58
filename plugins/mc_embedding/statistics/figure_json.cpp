#include "plugins/mc_embedding/statistics/figure_json.h"

#include <nlohmann/json.hpp>

namespace vergence::mc_embedding {

namespace {

using nlohmann::json;

void setInterval(json& object, const std::string& name, const Figure& low, const Figure& high)
{
    if (low.exists() && high.exists()) {
        object[name] = {low.value, high.value};
        return;
    }
    setFigure(object, name, low.exists() ? high : low);
}

} // namespace

void setFigure(json& object, const std::string& name, const Figure& figure)
{
    if (figure.exists()) {
        object[name] = figure.value;
        return;
    }
    object[name] = nullptr;
    object[name + "_reason"] = figure.reason.empty() ? "not finite" : figure.reason;
}

json reliabilityJson(const Reliability& cell)
{
    json out = {{"num_trials", cell.trials}, {"num_images", cell.images}};
    setFigure(out, "signal", cell.signal);
    setFigure(out, "noise", cell.noise);
    setFigure(out, "snr", cell.snr);
    setFigure(out, "snr_unbiased", cell.snrUnbiased);
    setFigure(out, "icc", cell.icc);
    setInterval(out, "icc_ci", cell.iccLow, cell.iccHigh);
    setFigure(out, "icc_c1", cell.iccC1);
    setFigure(out, "trial_drift_p", cell.driftP);
    setFigure(out, "pairwise_spearman_median", cell.spearmanMedian);
    setFigure(out, "pairwise_spearman_iqr",
              cell.spearmanQ25.exists() ? Figure(cell.spearmanQ75.value - cell.spearmanQ25.value)
                                        : cell.spearmanQ25);
    setFigure(out, "pairwise_spearman_q25", cell.spearmanQ25);
    setFigure(out, "pairwise_spearman_q75", cell.spearmanQ75);
    out["pairwise_spearman"] = cell.pairwise;
    setFigure(out, "mean", cell.mean);
    setFigure(out, "relative_noise", cell.relativeNoise);
    json passes = json::object();
    setFigure(passes, "0.75", passesForIcc(cell, 0.75));
    setFigure(passes, "0.90", passesForIcc(cell, 0.90));
    out["t_for_icc"] = passes;
    out["status"] = cell.status;
    out["certain"] = cell.certain;
    return out;
}

} // namespace vergence::mc_embedding
