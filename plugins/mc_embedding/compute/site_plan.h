#pragma once

#include <map>
#include <vector>

#include "plugins/mc_embedding/compute/mask_math.h"
#include "plugins/mc_embedding/compute/sites.h"

namespace vergence::mc_embedding {

/// The steps of a tower in order, each a product and what is done with its result before the next:
/// embedding, four per block (the head of SigLIP being one), and the projection of CLIP.
namespace steps {
inline constexpr int kEmbed = 0;
enum InBlock { kQkv = 0, kOutput = 1, kFc1 = 2, kFc2 = 3 };
constexpr int inBlock(int block, InBlock part)
{
    return 1 + 4 * block + part;
}
constexpr int blockOf(int step)
{
    return (step - 1) / 4;
}
constexpr InBlock partOf(int step)
{
    return static_cast<InBlock>((step - 1) % 4);
}
/// The step whose result is the feature.
int last(const TowerShape& tower);
/// The step in whose result a site is.
int ofSite(const TowerShape& tower, int site);
} // namespace steps

/// What happens at which site.
class SitePlan {
public:
    SitePlan() = default;
    /// Throws ContractError where the perturbation is out of range or does not suit a site.
    SitePlan(const TowerShape& tower, std::vector<Site> sites, const Perturbation& perturbation);

    const std::vector<Site>& sites() const { return m_sites; }
    const Perturbation& perturbation() const { return m_perturbation; }
    const DropRate& rateOf(int site) const
    {
        const auto found = m_rates.find(site);
        return found == m_rates.end() ? m_rate : found->second;
    }
    /// The live site of that number, or null.
    const Site* find(int number) const
    {
        const auto found = m_byNumber.find(number);
        return found == m_byNumber.end() ? nullptr : &found->second;
    }
    bool isNoise() const
    {
        return m_perturbation.kind == Perturbation::Kind::Gaussian ||
               m_perturbation.kind == Perturbation::Kind::Scale;
    }
    /// The first step whose result is perturbed; the last of all where none is.
    int firstStep() const { return m_firstStep; }

private:
    std::vector<Site> m_sites;
    std::map<int, Site> m_byNumber;
    Perturbation m_perturbation;
    DropRate m_rate;
    std::map<int, DropRate> m_rates;
    int m_firstStep = 0;
};

} // namespace vergence::mc_embedding
