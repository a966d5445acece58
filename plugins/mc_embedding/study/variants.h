#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/mc_embedding/compute/perturbation.h"
#include "plugins/mc_embedding/compute/sites.h"
#include "plugins/mc_embedding/mc_embedding_config.h"

namespace vergence::mc_embedding {

/// One way of measuring a model: what the lists of the group `compare` vary.
struct Variant {
    std::string suffix; ///< "" or "-mlp_only-erf"; for labels and folders
    std::string activation;
    double p = 0.01;
    Placement placement;
    std::string kind = "dropout";     ///< as the key `kind`
    std::map<int, double> rates = {}; ///< by number of site, where it is not p
};

/// The product of the lists, or the one setting where they are empty. Throws ContractError for an
/// extra site that does not exist.
std::vector<Variant> variantsOf(const McEmbeddingConfig& config);
Perturbation perturbationOf(const McEmbeddingConfig& config, const Variant& variant);
/// "block_output+final_projection": a preset and extra sites, with those of the configuration.
Placement placementOf(const McEmbeddingConfig& config, const std::string& text);
/// The same with another placement: stochastic depth for branches, and for them alone.
Variant withPlacement(Variant variant, const Placement& placement);
/// Names of `extra_sites`.
const std::vector<std::string>& extraSiteNames();

} // namespace vergence::mc_embedding
