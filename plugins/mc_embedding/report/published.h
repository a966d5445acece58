#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vergence::mc_embedding {

/// What the original study published, section 8 of the specification. Variances are biased (1/T).
struct PublishedReliability {
    std::string model;
    int passes = 0;
    bool isPost = false;
    double signal = 0, noise = 0, snr = 0, icc = 0, spearman = 0, q25 = 0, q75 = 0;
    std::string status;
};
const std::vector<PublishedReliability>& publishedReliability();
std::optional<PublishedReliability> publishedReliability(const std::string& model, int passes,
                                                         bool isPost);

/// One number of the comparison table.
struct PublishedModel {
    std::string model;
    double trace = 0;       ///< mean, pre-norm, T = 64, unbiased
    double passesFor75 = 0; ///< T for ICC 0.75, re-analysed
    double aurocHighEntropy = 0;
    std::string reliabilityReason, ambiguityReason; ///< known defects behind differences
};
const std::vector<PublishedModel>& publishedModels();
std::optional<PublishedModel> publishedModel(const std::string& model);

/// ρ between the mean scores of two models (8.4).
std::optional<double> publishedCrossModel(const std::string& a, const std::string& b);
/// Fraction of images with a higher trace when degraded (8.8), uniform placement.
std::optional<double> publishedDegradation(const std::string& model,
                                           const std::string& degradation);
/// Median ρ against T of clip_b32, uniform placement (8.9).
const std::vector<std::pair<int, double>>& publishedScalingClip();

/// Deviations of the original that this study does not repeat, for the report.
const std::vector<std::string>& knownDeviations();

} // namespace vergence::mc_embedding
