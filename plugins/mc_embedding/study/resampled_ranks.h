#pragma once

#include <span>
#include <vector>

#include "plugins/mc_embedding/statistics/figure.h"

namespace vergence::mc_embedding {

/// Ranks within resamples of one list, from an order that is sorted once: a bootstrap of rank
/// statistics costs O(n) per resample instead of a sort.
class ResampledRanks {
public:
    explicit ResampledRanks(std::span<const double> x);

    /// Average rank of every entry in the resample that holds entry i counts[i] times; ties share
    /// theirs. Entries that are not drawn have the rank of their place.
    void rank(std::span<const int> counts, std::vector<double>& ranks) const;

private:
    std::vector<std::size_t> m_order; ///< ascending
    std::vector<std::size_t> m_ends;  ///< of the groups of equal values in m_order
};

/// How often each of n entries is drawn.
std::vector<int> countsOf(std::span<const std::size_t> drawn, std::size_t n);
/// Spearman of a resample: equals spearman() of the drawn pairs.
Figure resampledSpearman(const ResampledRanks& x, const ResampledRanks& y,
                         std::span<const int> counts);
/// AUROC of a resample: equals auroc() of the drawn entries.
Figure resampledAuroc(const ResampledRanks& scores, std::span<const char> positives,
                      std::span<const int> counts);

} // namespace vergence::mc_embedding
