#include "plugins/mc_embedding/study/resampled_ranks.h"

#include <algorithm>
#include <numeric>

namespace vergence::mc_embedding {

ResampledRanks::ResampledRanks(std::span<const double> x) : m_order(x.size())
{
    std::iota(m_order.begin(), m_order.end(), std::size_t{0});
    std::sort(m_order.begin(), m_order.end(),
              [x](std::size_t a, std::size_t b) { return x[a] < x[b]; });
    for (std::size_t i = 1; i <= m_order.size(); ++i) {
        if (i == m_order.size() || x[m_order[i]] != x[m_order[i - 1]])
            m_ends.push_back(i);
    }
}

void ResampledRanks::rank(std::span<const int> counts, std::vector<double>& ranks) const
{
    ranks.resize(m_order.size());
    double before = 0;
    std::size_t first = 0;
    for (const std::size_t end : m_ends) {
        double inGroup = 0;
        for (std::size_t i = first; i < end; ++i)
            inGroup += counts[m_order[i]];
        for (std::size_t i = first; i < end; ++i)
            ranks[m_order[i]] = before + (inGroup + 1) / 2;
        before += inGroup;
        first = end;
    }
}

std::vector<int> countsOf(std::span<const std::size_t> drawn, std::size_t n)
{
    std::vector<int> counts(n, 0);
    for (const std::size_t i : drawn)
        ++counts[i];
    return counts;
}

Figure resampledSpearman(const ResampledRanks& x, const ResampledRanks& y,
                         std::span<const int> counts)
{
    std::vector<double> a, b;
    x.rank(counts, a);
    y.rank(counts, b);
    const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
    const double mean = (n + 1) / 2; // of ranks, ties or not
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const double u = a[i] - mean, v = b[i] - mean;
        xx += counts[i] * u * u;
        yy += counts[i] * v * v;
        xy += counts[i] * u * v;
    }
    if (!(xx > 0) || !(yy > 0))
        return Figure::none("one side is constant");
    return xy / std::sqrt(xx * yy);
}

Figure resampledAuroc(const ResampledRanks& scores, std::span<const char> positives,
                      std::span<const int> counts)
{
    std::vector<double> ranks;
    scores.rank(counts, ranks);
    double all = 0, positive = 0, sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        all += counts[i];
        if (!positives[i])
            continue;
        positive += counts[i];
        sum += counts[i] * ranks[i];
    }
    const double negative = all - positive;
    if (positive == 0 || negative == 0)
        return Figure::none("one class is empty");
    return (sum - positive * (positive + 1) / 2) / (positive * negative);
}

} // namespace vergence::mc_embedding
