#pragma once

#include <filesystem>
#include <functional>

#include <nlohmann/json_fwd.hpp>

#include "plugins/mc_embedding/models/text_model.h"
#include "plugins/mc_embedding/study/labels.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

struct AmbiguityOptions {
    std::vector<std::string> templates = {"a photo of a {}", "a {}", "an image of a {}"};
    std::string clean = "canonicalize"; ///< or "lower"; for SigLIP
};

/// Zero-shot judgement of images by their deterministic features [N, D] (normalised here): logits =
/// scale · cos + bias, one row per image. Margin, entropy and prediction by the first template,
/// prompt sensitivity over all (NaN with one template). Throws InputError for bad templates or text
/// features of another length, NumericsError for features that are not finite. Empty where
/// text.isStopped said so.
Ambiguity computeAmbiguity(Stream& stream, TextModel& text, const Matrix& features,
                           const StudyClasses& classes, const AmbiguityOptions& options = {});

/// scale · cos(image, text) + bias: [N, texts].
Matrix zeroShotLogits(const Matrix& images, const Matrix& texts, double scale, double bias);

struct Exp5Options {
    std::string metric = "trace_pre"; ///< of the scores: the uncertainty
    double quantile = 0.10;           ///< low margin, high entropy: the outermost share
    int resamples = 2000;
    double alpha = 0.05;
    std::uint64_t seed = 42;
    std::vector<double> coverageLevels = {0.8, 0.9, 0.95};
    int halves = 20;                   ///< of split conformal
    std::function<bool()> isStopped{}; ///< asked before the resamples of every figure, which is
                                       ///< then left without an interval
};

/// Mean over trials of a score at the largest T, per image; NaN where it is not known.
std::vector<double> uncertaintyOf(const ModelStudy& study, const std::string& metric);

/// Summary of Exp 5 of one model (sections 7.4, 8.2, 12.3): metrics with bootstrap intervals,
/// thresholds, templates, accuracy and error where labels exist, the sanity gate, conformal
/// coverage. A pure function. Throws ContractError where the study has no ambiguity or score.
nlohmann::json exp5Summary(const ModelStudy& study, const Exp5Options& options = {});
/// All models that have one under `results`, the others under `skipped` with the reason.
nlohmann::json exp5Overall(const StudyState& state, const Exp5Options& options = {});
/// exp5_{model}.npz: paths, classes, uncertainty, margin, entropy, prompt_sensitivity, logits,
/// gt_labels, pred_labels. Throws OutputError.
void writeExp5Arrays(const std::filesystem::path& path, const ModelStudy& study,
                     const ImageSet& images, const Exp5Options& options = {});

} // namespace vergence::mc_embedding
