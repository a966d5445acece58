#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "plugins/mc_embedding/study/experiments/aleatoric.h"
#include "plugins/mc_embedding/study/experiments/layer_rates.h"
#include "plugins/mc_embedding/study/experiments/placement_comparison.h"
#include "plugins/mc_embedding/study/experiments/rank_stability.h"
#include "plugins/mc_embedding/study/plan.h"

namespace vergence::mc_embedding {

namespace {

using Kind = MeasurementPlan::Kind;

/// The clean measurement with other masks: one score, largest T.
MeasurementPlan wayOf(const ModelPlan& plan, const std::string& experiment, const std::string& name)
{
    MeasurementPlan way = plan.measurements.front();
    way.kind = Kind::Way;
    way.experiment = experiment;
    way.way = name;
    way.folder = experiment + "-" + name;
    way.passes = {way.passes.back()};
    way.scores = {"trace_pre"};
    way.geometryTrials = 0;
    way.keepsClouds = way.needsClouds = false;
    way.storedFeatures.reset();
    return way;
}

std::vector<int> siteNumbers(const TowerShape& tower, const Placement& placement)
{
    std::vector<int> numbers;
    for (const Site& site : liveSites(tower, placement))
        numbers.push_back(site.number);
    return numbers;
}

/// Whether two variants draw the same masks.
bool areSame(const TowerShape& tower, const Variant& a, const Variant& b)
{
    const auto differs = [](const Variant& v) {
        return std::any_of(v.rates.begin(), v.rates.end(),
                           [&](const auto& rate) { return rate.second != v.p; });
    };
    return a.kind == b.kind && a.p == b.p && !differs(a) && !differs(b) &&
           siteNumbers(tower, a.placement) == siteNumbers(tower, b.placement);
}

void addWay(const TowerShape& tower, ModelPlan& plan, MeasurementPlan way)
{
    const bool isClean = areSame(tower, way.variant, plan.variant);
    (isClean ? plan.cleanWays : plan.measurements).push_back(std::move(way));
}

void addRates(const McEmbeddingConfig& config, const TowerShape& tower, ModelPlan& plan)
{
    const std::vector<double> rates =
        config.exp1Rates.empty() ? rankStabilityRates() : config.exp1Rates;
    for (const double p : rates) {
        MeasurementPlan way = wayOf(plan, "exp1", fmt::format("{:g}", p));
        way.variant.p = p;
        addWay(tower, plan, std::move(way));
    }
}

/// The types of a tower, or the placements that the user named; those that it does not have are
/// left out.
void addPlacements(const McEmbeddingConfig& config, const TowerShape& tower, ModelPlan& plan)
{
    std::vector<PlacementType> types;
    if (config.exp3Placements.empty())
        types = placementTypes(tower);
    for (const std::string& name : config.exp3Placements)
        types.push_back({{}, placementOf(config, name)});
    for (std::size_t i = 0; i < types.size(); ++i) {
        const PlacementType& type = types[i];
        const std::string preset = config.exp3Placements.empty()
                                       ? type.letter + " " + type.placement.preset
                                       : config.exp3Placements[i];
        MeasurementPlan way = wayOf(plan, "exp3", preset);
        std::replace(way.folder.begin(), way.folder.end(), ' ', '-');
        way.scores.emplace_back("anisotropy");
        way.variant = withPlacement(way.variant, type.placement);
        try {
            addWay(tower, plan, std::move(way));
        } catch (const ContractError&) {
            continue; // liveSites: the tower has no such site
        }
    }
}

void addCandidates(const McEmbeddingConfig& config, const TowerShape& tower, ModelPlan& plan)
{
    const std::vector<GroupRates> candidates = layerRateCandidates(
        plan.variant.p, static_cast<std::size_t>(config.exp11Candidates), config.seed);
    const std::vector<int> sites = siteNumbers(tower, plan.variant.placement);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        MeasurementPlan way = wayOf(plan, "exp11", fmt::format("{:02}", i));
        way.groupRates = candidates[i];
        for (const int site : sites) {
            if (site < kPositionAdd)
                way.variant.rates[site] =
                    candidates[i][depthGroup(site / 16, static_cast<int>(tower.layers))];
        }
        addWay(tower, plan, std::move(way));
    }
}

void addFeatures(ModelPlan& plan)
{
    for (const std::string& degradation : aleatoricVariants()) {
        if (degradation == "none")
            continue;
        MeasurementPlan copy = wayOf(plan, {}, {});
        copy.kind = Kind::Features;
        copy.degradation = degradation;
        copy.folder = "features-" + degradation;
        copy.trials = 0;
        copy.scores.clear();
        plan.measurements.push_back(std::move(copy));
    }
}

} // namespace

void addLaterMeasurements(const McEmbeddingConfig& config, ModelPlan& plan)
{
    const TowerShape tower = *towerShape(plan.model);
    if (config.runs("exp1"))
        addRates(config, tower, plan);
    if (config.runs("exp3"))
        addPlacements(config, tower, plan);
    if (config.runs("exp11"))
        addCandidates(config, tower, plan);
    if (config.runs("exp7"))
        addFeatures(plan);
    if (config.runs("exp2")) {
        MeasurementPlan painted = wayOf(plan, {}, {});
        painted.kind = Kind::Synthetic;
        painted.folder = "synthetic";
        painted.images = 4 * config.exp2Each;
        plan.measurements.push_back(std::move(painted));
    }
    if (config.runs("exp10")) {
        MeasurementPlan texts = wayOf(plan, {}, {});
        texts.kind = Kind::Texts;
        texts.folder = "texts";
        texts.images = config.exp10Prompts;
        plan.measurements.push_back(std::move(texts));
    }
}

} // namespace vergence::mc_embedding
