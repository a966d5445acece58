#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/mc_embedding/compute/model_zoo.h"

namespace vergence::mc_embedding {

/// What a site of a block is; its number is 16 · block + code, the head of SigLIP being block
/// `layers`. Specification, section 3.3.
enum class SiteCode : std::uint8_t {
    Query = 0,
    Key = 1,
    Value = 2,
    Output = 3,
    Fc1 = 4,
    Fc2 = 5,
    BlockOutput = 6,
    AttentionProbabilities = 7,
    OutputAgain = 8, ///< second mask on the same value
    AfterActivation = 9,
    Fc2Again = 10,
    DepthAttention = 11, ///< one coin per image and branch
    DepthMlp = 12
};

inline constexpr int kPositionAdd = 0xFFF0, kPatchEmbedding = 0xFFF1, kFinalProjection = 0xFFF2,
                     kFinalFeature = 0xFFF3;

constexpr int siteNumber(int block, SiteCode code)
{
    return 16 * block + static_cast<int>(code);
}
std::string siteName(int number, const TowerShape& tower); ///< "block 5 fc1", "head value"

/// One place of a tower where a random mask is applied.
struct Site {
    int number = 0;
    Index tokens = 0, channels = 0; ///< of the value there; attention: heads·n rows of n
    Index elements() const { return tokens * channels; }
};

/// Every place that a tower has, in the order of evaluation.
std::vector<Site> allSites(const TowerShape& tower);

/// Which sites are live: a preset of section 3.4, narrowed and extended.
struct Placement {
    std::string preset = "all_linear"; ///< a name of placementPresets()
    std::vector<int> blocks;           ///< only these blocks; empty: all (the head is `layers`)
    std::vector<int> sites;            ///< preset "sites": exactly these numbers
    bool patchEmbedding = false, finalProjection = false, positionAdd = false;
    bool attentionProbabilities = false, afterActivation = false, blockOutput = false;
};
const std::vector<std::string>& placementPresets();

/// The live sites of a tower in the order of evaluation. Throws ContractError for a preset, block
/// or site that the tower does not have.
std::vector<Site> liveSites(const TowerShape& tower, const Placement& placement);

} // namespace vergence::mc_embedding
