#include "plugins/mc_embedding/compute/sites.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::array kCodeNames{"query",
                                "key",
                                "value",
                                "output",
                                "fc1",
                                "fc2",
                                "block output",
                                "attention probabilities",
                                "output, second mask",
                                "after activation",
                                "fc2, second mask",
                                "attention branch",
                                "MLP branch"};

constexpr bool isOutsideBlocks(int number)
{
    return number >= kPositionAdd;
}

/// Sites of block `block`, or of the head, in the order of evaluation.
void addBlock(std::vector<Site>& all, const TowerShape& t, int block)
{
    using enum SiteCode;
    const bool isHead = block == t.layers;
    const Index tokens = t.tokens(), asked = isHead ? 1 : tokens;
    const auto add = [&](SiteCode code, Index rows, Index channels) {
        all.push_back({siteNumber(block, code), rows, channels});
    };
    add(Query, asked, t.width);
    add(Key, tokens, t.width);
    add(Value, tokens, t.width);
    add(AttentionProbabilities, t.heads * asked, tokens);
    add(Output, asked, t.width);
    add(OutputAgain, asked, t.width);
    if (!isHead)
        add(DepthAttention, 1, 1);
    add(Fc1, asked, t.hidden);
    add(AfterActivation, asked, t.hidden);
    add(Fc2, asked, t.width);
    add(Fc2Again, asked, t.width);
    if (!isHead) {
        add(DepthMlp, 1, 1);
        add(BlockOutput, tokens, t.width);
    }
}

bool isOneOf(SiteCode code, std::initializer_list<SiteCode> codes)
{
    return std::ranges::find(codes, code) != codes.end();
}

/// Whether a preset makes a site within blocks (or the head) live.
bool isInPreset(const std::string& preset, SiteCode code, bool isHead)
{
    using enum SiteCode;
    const bool isMlp = isOneOf(code, {Fc1, Fc2}),
               isAttention = isOneOf(code, {Query, Key, Value, Output});
    if (preset == "all_linear")
        return isMlp || isAttention;
    if (preset == "mlp_only")
        return isMlp;
    if (preset == "fc2_all")
        return code == Fc2;
    if (preset == "attention_only")
        return isAttention;
    if (preset == "siglip_transformers")
        return isMlp || (isAttention && !isHead);
    if (preset == "siglip_timm_double")
        return isMlp || isAttention || isOneOf(code, {OutputAgain, AfterActivation, Fc2Again});
    if (preset == "stochastic_depth")
        return isOneOf(code, {DepthAttention, DepthMlp});
    return preset == "block_output" && code == BlockOutput;
}

/// Whether a site outside blocks is live.
bool isLiveOutside(const Placement& placement, int number)
{
    const bool isDouble = placement.preset == "siglip_timm_double";
    switch (number) {
    case kPatchEmbedding:
        return placement.patchEmbedding;
    case kPositionAdd:
        return placement.positionAdd || isDouble;
    case kFinalProjection:
        return placement.finalProjection;
    default:
        return isDouble;
    }
}

bool isLive(const TowerShape& tower, const Placement& placement, int number)
{
    if (std::ranges::find(placement.sites, number) != placement.sites.end())
        return true;
    if (isOutsideBlocks(number))
        return isLiveOutside(placement, number);
    const int block = number / 16;
    const auto code = static_cast<SiteCode>(number % 16);
    if (!placement.blocks.empty() &&
        std::ranges::find(placement.blocks, block) == placement.blocks.end())
        return false;
    return isInPreset(placement.preset, code, block == tower.layers) ||
           (code == SiteCode::AttentionProbabilities && placement.attentionProbabilities) ||
           (code == SiteCode::AfterActivation && placement.afterActivation) ||
           (code == SiteCode::BlockOutput && placement.blockOutput);
}

void checkPlacement(const TowerShape& tower, const Placement& placement,
                    const std::vector<Site>& all)
{
    const auto& presets = placementPresets();
    if (std::ranges::find(presets, placement.preset) == presets.end())
        throw ContractError(fmt::format("There is no placement {}; there are {}.", placement.preset,
                                        fmt::join(presets, ", ")));
    if (placement.preset.starts_with("siglip_") && tower.family != Family::Siglip)
        throw ContractError(
            fmt::format("The placement {} describes SigLIP; {} is none. Take all_linear.",
                        placement.preset, tower.key));
    if (placement.finalProjection && tower.family != Family::Clip)
        throw ContractError(fmt::format("{} has no final projection to put a mask on.", tower.key));
    if (placement.preset != "sites" && !placement.sites.empty())
        throw ContractError(
            fmt::format("A list of sites wants the placement sites, not {}.", placement.preset));
    const int last = tower.family == Family::Siglip ? tower.layers : tower.layers - 1;
    for (const int block : placement.blocks) {
        if (block < 0 || block > last)
            throw ContractError(
                fmt::format("{} has no block {}; they are 0 to {}.", tower.key, block, last));
    }
    for (const int number : placement.sites) {
        if (std::ranges::find(all, number, &Site::number) == all.end())
            throw ContractError(
                fmt::format("{} has no site {} ({}).", tower.key, number, siteName(number, tower)));
    }
}

} // namespace

std::vector<Site> allSites(const TowerShape& t)
{
    if (t.family == Family::ToyLinear)
        return {{siteNumber(0, SiteCode::Fc1), 1, t.feature}};
    std::vector<Site> all = {{kPatchEmbedding, t.patches(), t.width},
                             {kPositionAdd, t.tokens(), t.width}};
    const int blocks = t.family == Family::Siglip ? t.layers + 1 : t.layers;
    for (int block = 0; block < blocks; ++block)
        addBlock(all, t, block);
    if (t.family == Family::Clip)
        all.push_back({kFinalProjection, 1, t.feature});
    all.push_back({kFinalFeature, 1, t.feature});
    return all;
}

std::string siteName(int number, const TowerShape& tower)
{
    switch (number) {
    case kPositionAdd:
        return "positions";
    case kPatchEmbedding:
        return "patch embedding";
    case kFinalProjection:
        return "final projection";
    case kFinalFeature:
        return "final feature";
    default:
        break;
    }
    const auto code = static_cast<std::size_t>(number % 16);
    if (number < 0 || code >= kCodeNames.size())
        return fmt::format("unknown site {}", number);
    const int block = number / 16;
    if (block == tower.layers && tower.family == Family::Siglip)
        return fmt::format("head {}", kCodeNames[code]);
    return fmt::format("block {} {}", block, kCodeNames[code]);
}

const std::vector<std::string>& placementPresets()
{
    static const std::vector<std::string> presets = {
        "all_linear",         "mlp_only",     "siglip_transformers",
        "siglip_timm_double", "fc2_all",      "attention_only",
        "stochastic_depth",   "block_output", "sites"};
    return presets;
}

std::vector<Site> liveSites(const TowerShape& tower, const Placement& placement)
{
    const std::vector<Site> all = allSites(tower);
    checkPlacement(tower, placement, all);
    std::vector<Site> live;
    std::ranges::copy_if(all, std::back_inserter(live),
                         [&](const Site& site) { return isLive(tower, placement, site.number); });
    if (live.empty())
        throw ContractError(
            fmt::format("{} has no site of the placement {}.", tower.key, placement.preset));
    return live;
}

} // namespace vergence::mc_embedding
