#include "plugins/mc_embedding/compute/site_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

steps::InBlock partOfCode(SiteCode code)
{
    using enum SiteCode;
    switch (code) {
    case Query:
    case Key:
    case Value:
    case AttentionProbabilities:
        return steps::kQkv;
    case Output:
    case OutputAgain:
    case DepthAttention:
        return steps::kOutput;
    case Fc1:
    case AfterActivation:
        return steps::kFc1;
    default:
        return steps::kFc2;
    }
}

void checkSite(const TowerShape& tower, int number, Perturbation::Kind kind)
{
    using Kind = Perturbation::Kind;
    const bool isInBlock = number < kPositionAdd;
    const auto code = static_cast<SiteCode>(number % 16);
    const bool isBranch =
                   isInBlock && (code == SiteCode::DepthAttention || code == SiteCode::DepthMlp),
               isProbability = isInBlock && code == SiteCode::AttentionProbabilities;
    const bool isCoin = kind == Kind::Dropout || kind == Kind::StochasticDepth;
    if ((isBranch && !isCoin) || (!isBranch && kind == Kind::StochasticDepth) ||
        (isProbability && kind != Kind::Dropout))
        throw ContractError(fmt::format(
            "{} of {} takes {} alone; choose a placement and extra sites without it, or another "
            "kind of perturbation.",
            siteName(number, tower), tower.key,
            isBranch        ? "stochastic depth"
            : isProbability ? "dropout"
                            : "dropout or noise"));
}

DropRate checkedRate(double p)
{
    expects(p >= 0 && p <= 0.9,
            fmt::format("Encoder: the drop probability {} is not in [0, 0.9]", p));
    return dropRate(p);
}

} // namespace

int steps::last(const TowerShape& tower)
{
    if (tower.family == Family::ToyLinear)
        return kEmbed;
    return tower.family == Family::Clip ? inBlock(tower.layers, kQkv) : inBlock(tower.layers, kFc2);
}

int steps::ofSite(const TowerShape& tower, int number)
{
    if (tower.family == Family::ToyLinear || number == kPositionAdd || number == kPatchEmbedding)
        return kEmbed;
    if (number >= kPositionAdd)
        return last(tower);
    return inBlock(number / 16, partOfCode(static_cast<SiteCode>(number % 16)));
}

SitePlan::SitePlan(const TowerShape& tower, std::vector<Site> sites,
                   const Perturbation& perturbation)
    : m_sites(std::move(sites)),
      m_perturbation(perturbation),
      m_firstStep(steps::last(tower))
{
    m_rate = checkedRate(perturbation.p);
    for (const auto& [number, p] : perturbation.rates)
        m_rates.emplace(number, checkedRate(p));
    const std::vector<Site> all = allSites(tower);
    for (const Site& site : m_sites) {
        const auto known = std::ranges::find(all, site.number, &Site::number);
        expects(known != all.end() && known->tokens == site.tokens &&
                    known->channels == site.channels,
                fmt::format("Encoder: the site {} is not one of {}", site.number, tower.key));
        checkSite(tower, site.number, perturbation.kind);
        expects(m_byNumber.emplace(site.number, site).second,
                fmt::format("Encoder: the site {} is there twice", site.number));
        m_firstStep = std::min(m_firstStep, steps::ofSite(tower, site.number));
    }
    for (const auto& [number, rate] : m_rates)
        expects(m_byNumber.contains(number),
                fmt::format("Encoder: there is a rate for the site {}, which is not live", number));
}

} // namespace vergence::mc_embedding
