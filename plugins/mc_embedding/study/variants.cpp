#include "plugins/mc_embedding/study/variants.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

using Flag = std::pair<std::string, bool Placement::*>;

const std::vector<Flag>& flags()
{
    static const std::vector<Flag> kFlags{
        {"patch_embedding", &Placement::patchEmbedding},
        {"final_projection", &Placement::finalProjection},
        {"position_add", &Placement::positionAdd},
        {"attention_probabilities", &Placement::attentionProbabilities},
        {"after_activation", &Placement::afterActivation},
        {"block_output", &Placement::blockOutput}};
    return kFlags;
}

void addSite(Placement& placement, const std::string& name)
{
    for (const auto& [known, member] : flags()) {
        if (known == name) {
            placement.*member = true;
            return;
        }
    }
    throw ContractError(fmt::format("There is no extra site `{}`; there are {}.", name,
                                    fmt::join(extraSiteNames(), ", ")));
}

} // namespace

Placement placementOf(const McEmbeddingConfig& config, const std::string& text)
{
    std::istringstream parts(text);
    Placement placement;
    std::getline(parts, placement.preset, '+');
    for (std::string name; std::getline(parts, name, '+');)
        addSite(placement, name);
    for (const std::string& name : config.extraSites)
        addSite(placement, name);
    placement.blocks = config.blocks;
    if (placement.preset == "sites")
        placement.sites = config.sites;
    return placement;
}

Variant withPlacement(Variant variant, const Placement& placement)
{
    variant.placement = placement;
    if (placement.preset == "stochastic_depth")
        variant.kind = "stochastic_depth";
    else if (variant.kind == "stochastic_depth")
        variant.kind = "dropout";
    return variant;
}

const std::vector<std::string>& extraSiteNames()
{
    static const std::vector<std::string> kNames = [] {
        std::vector<std::string> names;
        for (const auto& [name, member] : flags())
            names.push_back(name);
        return names;
    }();
    return kNames;
}

std::vector<Variant> variantsOf(const McEmbeddingConfig& config)
{
    const auto listOr = [](const auto& list, const auto& single) {
        return list.empty() ? std::vector{single} : list;
    };
    const auto placements = listOr(config.comparePlacements, config.placement);
    const auto activations = listOr(config.compareActivations, config.activation);
    const auto rates = listOr(config.compareP, config.p);
    const auto blocks = listOr(config.compareBlocks, -1);
    std::vector<Variant> variants;
    for (const std::string& placement : placements) {
        for (const std::string& activation : activations) {
            for (const double p : rates) {
                for (const int block : blocks) {
                    Variant variant{{}, activation, p, placementOf(config, placement), config.kind};
                    if (block >= 0)
                        variant.placement.blocks = {block};
                    if (placements.size() > 1)
                        variant.suffix += "-" + placement;
                    if (activations.size() > 1)
                        variant.suffix += "-" + activation;
                    if (rates.size() > 1)
                        variant.suffix += fmt::format("-p{:g}", p);
                    if (blocks.size() > 1)
                        variant.suffix += fmt::format("-block{}", block);
                    variants.push_back(std::move(variant));
                }
            }
        }
    }
    return variants;
}

Perturbation perturbationOf(const McEmbeddingConfig& config, const Variant& variant)
{
    Perturbation perturbation;
    if (variant.kind == "gaussian")
        perturbation.kind = Perturbation::Kind::Gaussian;
    else if (variant.kind == "scale")
        perturbation.kind = Perturbation::Kind::Scale;
    else if (variant.kind == "stochastic_depth")
        perturbation.kind = Perturbation::Kind::StochasticDepth;
    perturbation.p = variant.p;
    perturbation.rates = variant.rates;
    perturbation.magnitude = config.magnitude;
    perturbation.seed = config.seed;
    return perturbation;
}

} // namespace vergence::mc_embedding
