#include "plugins/mc_embedding/study/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vergence::mc_embedding {

namespace {

void addOnce(std::vector<std::string>& list, const std::string& name)
{
    if (std::find(list.begin(), list.end(), name) == list.end())
        list.push_back(name);
}

/// What the experiments read beside the configured scores.
std::vector<std::string> scoresOf(const McEmbeddingConfig& config)
{
    std::vector<std::string> scores{"trace_pre", "trace_post"};
    for (const std::string& name : config.metrics)
        addOnce(scores, name);
    if (config.runs("exp4"))
        addOnce(scores, "angular_var");
    if (config.runs("exp3"))
        addOnce(scores, "anisotropy");
    if (config.runs("mnist_grid")) {
        for (const char* name : {"trace_sum", "logdet_eps", "offdiag_l1_sum"})
            addOnce(scores, name);
    }
    return scores;
}

bool runsAny(const McEmbeddingConfig& config, std::initializer_list<const char*> names)
{
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return config.runs(name); });
}

std::vector<std::string> listed(const McEmbeddingConfig& config,
                                std::initializer_list<const char*> names)
{
    std::vector<std::string> experiments;
    for (const char* name : names) {
        if (config.runs(name))
            experiments.emplace_back(name);
    }
    return experiments;
}

/// Experiments that read the clean measurement of every model.
constexpr const char* kShared[] = {
    "exp0",  "exp0b", "exp4",       "exp1",        "exp2",
    "exp3",  "exp6",  "exp7",       "exp8",        "exp9",
    "exp10", "exp11", "mnist_grid", "degradation", "mean_convergence"};
/// Those of them that compare with the zero-shot judgement.
constexpr auto kJudged = {"exp6", "exp7", "exp11"};

MeasurementPlan cleanMeasurement(const McEmbeddingConfig& config, const Variant& variant)
{
    MeasurementPlan plan;
    plan.variant = variant;
    plan.images = config.count;
    plan.trials = config.trials;
    plan.passes = config.passes;
    plan.scores = scoresOf(config);
    plan.keepsClouds = true;
    plan.needsClouds = runsAny(config, {"exp8", "exp9", "mean_convergence"});
    if (config.runs("exp0b"))
        plan.geometryTrials = std::min(config.geometryTrials, config.trials);
    if (config.storeFeatures != "none")
        plan.storedFeatures = config.storeFeatures == "fp16" ? DType::F16 : DType::F32;
    return plan;
}

ModelPlan sharedPlan(const McEmbeddingConfig& config, const std::string& model,
                     const Variant& variant, bool judgesHere)
{
    ModelPlan plan;
    plan.model = model;
    plan.label = model + variant.suffix;
    plan.variant = variant;
    for (const char* name : kShared) {
        if (config.runs(name))
            plan.experiments.emplace_back(name);
    }
    plan.measurements.push_back(cleanMeasurement(config, variant));
    plan.judges = judgesHere || runsAny(config, kJudged);
    if (judgesHere) {
        for (const std::string& name : listed(config, {"exp5", "conformal"}))
            plan.experiments.push_back(name);
    }
    if (config.runs("degradation")) {
        for (const std::string& degradation : config.degradations) {
            MeasurementPlan copy = cleanMeasurement(config, variant);
            copy.kind = MeasurementPlan::Kind::Degraded;
            copy.folder = copy.degradation = degradation;
            copy.scores = {"trace_pre"};
            copy.geometryTrials = 0;
            copy.keepsClouds = copy.needsClouds = false;
            copy.storedFeatures.reset();
            plan.measurements.push_back(copy);
        }
    }
    addLaterMeasurements(config, plan);
    return plan;
}

/// exp5 with images and trials of its own.
ModelPlan ambiguityPlan(const McEmbeddingConfig& config, const std::string& model,
                        const Variant& variant, bool isAlone)
{
    ModelPlan plan;
    plan.model = model;
    plan.label = model + variant.suffix + (isAlone ? "" : "-exp5");
    plan.variant = variant;
    plan.experiments = listed(config, {"exp5", "conformal"});
    plan.judges = true;
    MeasurementPlan measurement = cleanMeasurement(config, variant);
    measurement.images = config.exp5Count;
    measurement.trials = config.exp5Trials;
    measurement.geometryTrials = 0;
    measurement.passes = {config.passes.back()};
    measurement.needsClouds = false;
    plan.measurements.push_back(measurement);
    return plan;
}

bool isJudged(const McEmbeddingConfig& config, const std::string& model)
{
    const auto& some = config.exp5Models;
    return runsAny(config, {"exp5", "conformal"}) &&
           (some.empty() || std::find(some.begin(), some.end(), model) != some.end());
}

} // namespace

StudyPlan makePlan(const McEmbeddingConfig& config)
{
    const bool repeats = std::any_of(std::begin(kShared), std::end(kShared),
                                     [&](const char* name) { return config.runs(name); });
    StudyPlan plan;
    for (const std::string& model : config.models) {
        const bool judges = isJudged(config, model);
        const bool judgesApart = judges && config.exp5Count > 0;
        for (const Variant& variant : variantsOf(config)) {
            if (repeats || (judges && !judgesApart))
                plan.models.push_back(sharedPlan(config, model, variant, judges && !judgesApart));
            if (judgesApart)
                plan.models.push_back(ambiguityPlan(config, model, variant, !repeats));
        }
    }
    for (const ModelPlan& model : plan.models) {
        for (const MeasurementPlan& measurement : model.measurements) {
            if (measurement.kind != MeasurementPlan::Kind::Texts &&
                measurement.kind != MeasurementPlan::Kind::Synthetic)
                plan.images = std::max(plan.images, measurement.images);
        }
    }
    return plan;
}

int mostPasses(const ModelPlan& plan)
{
    const MeasurementPlan& first = plan.measurements.front();
    return std::max(1, first.trials) * first.passes.back();
}

BatchSize chosenBatch(const McEmbeddingConfig& config, const TowerShape& tower, bool isCpu,
                      int mostPasses)
{
    // A tenth of a second at what two cores and what a large card reach, but whole tiles; at most
    // the sequences of section 10.5. toy_linear has no tower but costs about this much.
    const double flop = std::max(tower.flop(), 1e6);
    const double budget = isCpu ? 4e9 : 4e13;
    // Powers of two: whole tiles of products, and even shares of the passes.
    const auto power = [](double value) {
        return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(value, 1.0))));
    };
    const auto least = static_cast<double>(sequencesPerTile(tower, isCpu));
    const double sequences =
        std::max(std::clamp(budget / flop, 1.0, isCpu ? 256.0 : 2048.0), least);
    BatchSize size;
    size.images =
        config.batchImages > 0 ? config.batchImages : std::min(power(std::sqrt(sequences)), 16);
    size.passes = config.batchPasses > 0 ? config.batchPasses : power(sequences / size.images);
    size.passes = std::min(size.passes, mostPasses);
    return size;
}

std::int64_t blocksOf(const MeasurementPlan& plan, const BatchSize& batch, std::size_t images)
{
    const std::int64_t passes = std::int64_t{plan.trials} * plan.passes.back();
    const auto chunk = static_cast<std::size_t>(batch.images);
    // A chunk without passes is a step too.
    return static_cast<std::int64_t>((images + chunk - 1) / chunk) *
           std::max<std::int64_t>((passes + batch.passes - 1) / batch.passes, 1);
}

} // namespace vergence::mc_embedding
