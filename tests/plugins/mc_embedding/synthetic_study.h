#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>

#include "plugins/mc_embedding/statistics/prediction.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::test {

/// What a study must hold for the views; plausible numbers, the same every time.
struct SyntheticStudy {
    std::size_t images = 120;
    int trials = 6, classes = 12;
    std::vector<int> passes{4, 16, 64};
    std::size_t dimensions = 24;
    std::size_t done = 120; ///< images that are finished; the others are NaN
};

namespace detail {

using mc_embedding::Matrix;

inline mc_embedding::ModelStudy syntheticModel(const SyntheticStudy& wanted, const char* key,
                                               double noise, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    mc_embedding::ModelStudy model;
    if (const auto shape = mc_embedding::towerShape(key))
        model.tower = *shape;
    model.tower.key = model.label = key;
    model.tower.feature = static_cast<Index>(wanted.dimensions);
    model.placement = "all_linear";
    model.p = 0.05;
    model.trials = wanted.trials;
    model.passes = wanted.passes;
    model.imagesDone = wanted.done;
    model.seconds = 12.5;
    model.flop = 1e12;
    model.precision = "fp32";
    model.activation = "tanh";
    const auto trials = static_cast<std::size_t>(wanted.trials);
    std::mt19937 shared(7); // images differ in the same way for all models
    std::vector<double> truth(wanted.images);
    for (double& value : truth)
        value = 8e-3 * std::exp(0.2 * normal(shared));
    for (const int passes : wanted.passes) {
        Matrix pre(trials, wanted.images, NAN), post = pre, angle = pre;
        for (std::size_t k = 0; k < trials; ++k) {
            for (std::size_t i = 0; i < wanted.done; ++i) {
                const double spread = noise * truth[i] / std::sqrt(passes);
                pre(k, i) = std::max(1e-4, truth[i] + spread * normal(random));
                post(k, i) = pre(k, i) * 0.01 * (1 + 0.05 * normal(random));
                angle(k, i) = 0.1 * pre(k, i) * (1 + 0.6 * normal(random));
            }
        }
        model.scores["trace_pre"].push_back(pre);
        model.scores["trace_post"].push_back(post);
        model.scores["angular_var"].push_back(angle);
        mc_embedding::DegradedScores blur{"blur5", {}};
        for (double& value : pre.values)
            value *= 1.1 + 0.1 * normal(random);
        blur.trace.push_back(pre);
        if (model.degraded.empty())
            model.degraded.push_back(blur);
        else
            model.degraded.front().trace.push_back(pre);
    }
    model.deterministic = model.means = model.variances =
        Matrix(wanted.images, wanted.dimensions, NAN);
    for (std::size_t i = 0; i < wanted.done; ++i) {
        for (std::size_t d = 0; d < wanted.dimensions; ++d) {
            model.deterministic(i, d) = normal(random);
            model.means(i, d) = model.deterministic(i, d) + 0.01 * normal(random);
            model.variances(i, d) = truth[i] * std::exp(normal(random) - 0.05 * double(d));
        }
    }
    const auto rows = trials * static_cast<std::size_t>(wanted.passes.back());
    for (const std::size_t image : {std::size_t{3}, wanted.done / 2, wanted.done - 1}) {
        mc_embedding::Cloud cloud{image, Matrix(rows, wanted.dimensions)};
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t d = 0; d < wanted.dimensions; ++d)
                cloud.passes(r, d) =
                    model.means(image, d) + std::sqrt(model.variances(image, d)) * normal(random);
        model.clouds.push_back(std::move(cloud));
    }
    return model;
}

inline void addAmbiguity(mc_embedding::ModelStudy& model, const SyntheticStudy& wanted)
{
    std::mt19937 random(11);
    std::normal_distribution<double> normal;
    mc_embedding::Ambiguity ambiguity;
    ambiguity.templates = {"a photo of a {}"};
    ambiguity.logits = Matrix(wanted.images, static_cast<std::size_t>(wanted.classes));
    for (int c = 0; c < wanted.classes; ++c)
        ambiguity.classes.push_back(fmt::format("class {}", c + 1));
    for (std::size_t i = 0; i < wanted.images; ++i) {
        const int truth = static_cast<int>(i) % wanted.classes;
        std::vector<double> logits;
        for (int c = 0; c < wanted.classes; ++c) {
            logits.push_back(1.5 * normal(random) + (c == truth ? 3 : 0));
            ambiguity.logits(i, static_cast<std::size_t>(c)) = logits.back();
        }
        ambiguity.margin.push_back(mc_embedding::margin(logits));
        ambiguity.entropy.push_back(mc_embedding::entropy(mc_embedding::softmax(logits)));
        ambiguity.promptSensitivity.push_back(0.01 * std::abs(normal(random)));
        ambiguity.truth.push_back(truth);
        ambiguity.predicted.push_back(
            static_cast<int>(std::ranges::max_element(logits) - logits.begin()));
    }
    model.ambiguity = std::move(ambiguity);
}

} // namespace detail

inline mc_embedding::StudyState makeStudy(const SyntheticStudy& wanted = {})
{
    mc_embedding::StudyState state;
    state.experiments = {"exp0", "exp0b", "exp4", "exp5", "degradation"};
    for (std::size_t i = 0; i < wanted.images; ++i) {
        mc_embedding::StudyImage image;
        image.label = fmt::format("class {}", i % static_cast<std::size_t>(wanted.classes) + 1);
        image.path = fmt::format("{}/picture_{:03}.png", image.label, i);
        image.sha256 = std::string(64, 'a');
        image.maskId = static_cast<std::uint32_t>(i);
        state.images.images.push_back(image);
    }
    state.models.push_back(detail::syntheticModel(wanted, "clip_b32", 1.8, 1));
    state.models.push_back(detail::syntheticModel(wanted, "siglip2_b16", 0.5, 2));
    detail::addAmbiguity(state.models.front(), wanted);
    state.skippedModels["clip_l14"] = "no weights: set models.folder.clip_l14";
    state.settings = {{"p", "0.05"},
                      {"trials", "6"},
                      {"passes", "[4, 16, 64]"},
                      {"count", "120"},
                      {"placement", "\"all_linear\""}};
    state.device = "CPU (2 cores)";
    return state;
}

} // namespace vergence::test
