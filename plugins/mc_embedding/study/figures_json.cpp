#include "plugins/mc_embedding/study/figures_json.h"

#include <cmath>

#include <fmt/format.h>

namespace vergence::mc_embedding {

void put(nlohmann::json& object, const std::string& name, const Figure& figure)
{
    object[name] = numberOrNull(figure.value);
    if (!figure.exists())
        object[name + "_reason"] = figure.reason.empty() ? "not finite" : figure.reason;
}

nlohmann::json numberOrNull(double value)
{
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json numbersOrNull(std::span<const double> values)
{
    nlohmann::json list = nlohmann::json::array();
    for (const double value : values)
        list.push_back(numberOrNull(value));
    return list;
}

nlohmann::json toJson(const Spread& spread)
{
    nlohmann::json json;
    put(json, "mean", spread.mean);
    put(json, "std", spread.deviation);
    put(json, "median", spread.median);
    put(json, "p25", spread.low);
    put(json, "p75", spread.high);
    return json;
}

nlohmann::json toJson(const Reliability& r)
{
    nlohmann::json json{{"num_trials", r.trials}, {"num_images", r.images}};
    put(json, "signal", r.signal);
    put(json, "noise", r.noise);
    put(json, "snr", r.snr);
    put(json, "icc", r.icc);
    json["icc_ci"] = {numberOrNull(r.iccLow.value), numberOrNull(r.iccHigh.value)};
    put(json, "icc_c1", r.iccC1);
    put(json, "icc_1k", r.icc1k);
    put(json, "snr_unbiased", r.snrUnbiased);
    put(json, "trial_drift_f", r.driftF);
    put(json, "trial_drift_p", r.driftP);
    json["trial_drift"] = r.drifts;
    put(json, "pairwise_spearman_median", r.spearmanMedian);
    const bool hasQuartiles = r.spearmanQ25.exists() && r.spearmanQ75.exists();
    put(json, "pairwise_spearman_iqr",
        hasQuartiles ? Figure(r.spearmanQ75.value - r.spearmanQ25.value) : r.spearmanQ25);
    put(json, "pairwise_spearman_q25", r.spearmanQ25);
    put(json, "pairwise_spearman_q75", r.spearmanQ75);
    json["pairwise_spearman"] = numbersOrNull(r.pairwise);
    put(json, "pairwise_pearson_median", r.pearsonMedian);
    put(json, "mean", r.mean);
    put(json, "relative_noise", r.relativeNoise);
    put(json, "between_variance", r.betweenVariance);
    put(json, "noise_per_pass", r.noisePerPass);
    json["t_for_icc"] = nlohmann::json::object();
    put(json["t_for_icc"], "0.75", passesForIcc(r, 0.75));
    put(json["t_for_icc"], "0.90", passesForIcc(r, 0.90));
    json["status"] = r.status;
    json["certain"] = r.certain;
    return json;
}

} // namespace vergence::mc_embedding
