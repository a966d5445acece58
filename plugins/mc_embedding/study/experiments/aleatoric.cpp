#include "plugins/mc_embedding/study/experiments/aleatoric.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

/// Mean over dimensions of the variance over variants, one image.
double spreadOver(std::span<const Matrix> variants, std::size_t image)
{
    const std::size_t dimensions = variants[0].columns;
    const double count = static_cast<double>(variants.size());
    double trace = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
        const double shift = variants[0](image, d);
        double sum = 0, squares = 0;
        for (const Matrix& variant : variants) {
            const double delta = variant(image, d) - shift;
            sum += delta;
            squares += delta * delta;
        }
        trace += std::max(0.0, squares - sum * sum / count) / (count - 1);
    }
    return trace / static_cast<double>(dimensions);
}

} // namespace

const std::vector<std::string>& aleatoricVariants()
{
    static const std::vector<std::string> kVariants = {
        "none",  "jpeg80", "jpeg60", "jpeg40",     "jpeg20",
        "blur1", "blur2",  "blur4",  "occlude0.1", "occlude0.25"};
    return kVariants;
}

AleatoricResult aleatoricStudy(std::span<const Matrix> variants, std::span<const double> dropout,
                               const PredictionTargets* targets)
{
    expects(variants.size() >= 2, "aleatoricStudy: two variants or more");
    const std::size_t images = variants[0].rows;
    expects(images == dropout.size() && std::all_of(variants.begin(), variants.end(),
                                                    [&](const Matrix& variant) {
                                                        return variant.rows == images &&
                                                               variant.columns ==
                                                                   variants[0].columns;
                                                    }),
            "aleatoricStudy: features of the same images in every variant, and their traces");
    AleatoricResult result;
    for (std::size_t i = 0; i < images; ++i)
        result.aleatoric.push_back(spreadOver(variants, i));
    result.correlation = spearman(result.aleatoric, dropout);
    const std::vector<double> a = zScores(result.aleatoric), b = zScores(dropout);
    for (std::size_t i = 0; i < images; ++i) {
        result.sum.push_back(a[i] + b[i]);
        result.product.push_back(a[i] * b[i]);
    }
    if (targets) {
        result.ofAleatoric = predictionQuality(result.aleatoric, *targets);
        result.ofDropout = predictionQuality(dropout, *targets);
        result.ofSum = predictionQuality(result.sum, *targets);
        result.ofProduct = predictionQuality(result.product, *targets);
    }
    return result;
}

nlohmann::json toJson(const AleatoricResult& result)
{
    nlohmann::json json = {{"variants", aleatoricVariants()}};
    double mean = 0;
    for (const double value : result.aleatoric)
        mean += value / static_cast<double>(result.aleatoric.size());
    json["aleatoric_mean"] = mean;
    setFigure(json, "spearman_dropout", result.correlation);
    const auto set = [&](const char* name, const std::optional<PredictionQuality>& quality) {
        if (quality)
            json["prediction"][name] = toJson(*quality);
    };
    set("aleatoric", result.ofAleatoric);
    set("dropout", result.ofDropout);
    set("z_sum", result.ofSum);
    set("z_product_not_recommended", result.ofProduct);
    return json;
}

} // namespace vergence::mc_embedding
