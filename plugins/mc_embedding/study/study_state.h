#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/mc_embedding/compute/model_zoo.h"
#include "plugins/mc_embedding/compute/sites.h"
#include "plugins/mc_embedding/io/image_set.h"
#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Zero-shot judgement of every image with dropout off. Specification, section 7.4.
struct Ambiguity {
    std::vector<std::string> classes, templates;
    Matrix logits;                                          ///< [N, classes], first template
    std::vector<double> margin, entropy, promptSensitivity; ///< [N]
    std::vector<int> predicted, truth;                      ///< [N]; truth −1: no label
};

/// One degraded copy of the study set under the same masks.
struct DegradedScores {
    std::string degradation;   ///< "blur5"
    std::vector<Matrix> trace; ///< per T [K, N], pre-norm
};

/// Scores of the same images, measured in another way than the model's own.
struct WayScores {
    std::string experiment; ///< "exp1", "exp3", "exp11"
    std::string name;       ///< "0.02", "A attention_only", "07"
    double p = 0;
    std::vector<double> rates; ///< exp11: drop probability per depth group
    Matrix trace;              ///< [K, N] pre-norm, at the largest T
    Matrix anisotropy;         ///< the same of λ₁ / tr S; empty where it was not wanted
};

/// Exp 2: pictures that were painted for it, and some of the study's own.
struct SyntheticScores {
    std::vector<std::string> groups; ///< of every picture: solid, gradient, noise, natural
    Matrix trace;                    ///< [K, pictures] pre-norm, at the largest T
};

/// Exp 8: prompts without masks.
struct PromptFeatures {
    std::vector<std::string> prompts;
    Matrix features; ///< [prompts, D]
    double logitScale = 100;
};

/// Exp 10: prompts under masks on the text tower.
struct TextScores {
    std::vector<std::string> prompts, styles;
    Matrix trace; ///< [K, prompts], at the largest T
};

/// All passes of one image, kept for the views and for the geometry of the cloud.
struct Cloud {
    std::size_t image = 0; ///< in the set
    Matrix passes;         ///< [K · T, D], trial by trial, pre-norm
};

/// Shape of every cloud of Exp 0b: trials [0, K'), at the largest T.
struct GeometryTrials {
    int trials = 0, passes = 0;
    /// "trace_pre", "offdiag_l1_ratio_post", "angular_var", … → [K', N].
    std::map<std::string, Matrix> values;
    Matrix eigenvaluesPre, eigenvaluesPost; ///< [K' · N, 10], trial by trial, largest first
};

/// Everything measured of one model so far. What is not known yet is NaN.
struct ModelStudy {
    std::string label; ///< key, with a suffix where a model is measured in several ways
    TowerShape tower;
    std::string placement; ///< preset, for people
    std::vector<Site> sites;
    double p = 0;
    std::string variance = "unbiased";
    double alpha = 0.05; ///< intervals hold with probability 1 − alpha
    std::string activation, precision, weightsSha256, weightsSource;
    int trials = 0;
    std::vector<int> passes;    ///< T list, ascending
    std::size_t imagesDone = 0; ///< the first ones of the set
    /// Metric ("trace_pre", "trace_post", "weighted_trace", "angular_var", …) → per T [K, N].
    std::map<std::string, std::vector<Matrix>> scores;
    Matrix deterministic; ///< [N, D] e_det
    Matrix means;         ///< [N, D] mean over all passes of all trials
    Matrix variances;     ///< [N, D] mean over trials of Var_d at the largest T
    std::vector<Cloud> clouds;
    std::optional<GeometryTrials> geometry;
    std::optional<Ambiguity> ambiguity;
    std::vector<DegradedScores> degraded;
    std::vector<WayScores> ways;
    std::map<std::string, Matrix> degradedFeatures; ///< Exp 7: degradation → [N, D], masks off
    std::optional<SyntheticScores> synthetic;
    std::optional<PromptFeatures> prompts;
    std::optional<TextScores> texts;
    std::vector<std::string> warnings;             ///< dead site, drift, fallback to bf16, …
    std::map<std::string, std::string> preprocess; ///< filter, size, crop, as used
    std::vector<std::string> experiments;          ///< what this model was measured for
    double seconds = 0, flop = 0;                  ///< of stochastic passes
    double leverageSeconds = 0;                    ///< Exp 6, per image
};

/// A study as views, reports and exports see it: filled while the run goes on, or read back from a
/// run folder.
struct StudyState {
    std::vector<std::string> experiments; ///< as configured
    ImageSet images;
    std::vector<std::string> skippedImages; ///< path: reason
    std::vector<ModelStudy> models;
    std::map<std::string, std::string> skippedModels; ///< key → reason
    std::map<std::string, std::string> settings; ///< for the report: key → value as configured
    std::string association; ///< Exp 9 on frames of a file: its summary as JSON; else empty
    std::uint64_t seed = 42;
    std::string device;
};

} // namespace vergence::mc_embedding
