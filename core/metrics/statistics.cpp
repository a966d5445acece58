#include "core/metrics/statistics.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/compute/rng.h"

namespace vergence {

double quantile(std::vector<double> x, double q)
{
    expects(!x.empty() && q >= 0 && q <= 1, "a quantile needs entries and a level in [0, 1]");
    std::sort(x.begin(), x.end());
    const double position = static_cast<double>(x.size() - 1) * q;
    const std::size_t below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, x.size() - 1);
    const double share = position - static_cast<double>(below);
    return share == 0 ? x[below] : x[below] + share * (x[above] - x[below]);
}

std::vector<double> averageRanks(std::span<const double> x)
{
    expects(std::none_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }),
            "what is not a number has no rank");
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
    std::vector<double> ranks(x.size());
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        while (last < order.size() && x[order[last]] == x[order[first]])
            ++last;
        for (std::size_t i = first; i < last; ++i)
            ranks[order[i]] = static_cast<double>(first + 1 + last) / 2;
    }
    return ranks;
}

std::vector<double> tieSizes(std::vector<double> x)
{
    std::sort(x.begin(), x.end());
    std::vector<double> sizes;
    for (std::size_t first = 0, last = 0; first < x.size(); first = last) {
        while (last < x.size() && x[last] == x[first])
            ++last;
        if (last - first > 1)
            sizes.push_back(static_cast<double>(last - first));
    }
    return sizes;
}

double normalCumulative(double x)
{
    return std::erfc(-x / std::sqrt(2.0)) / 2;
}

RankSum rankSumTest(std::span<const double> a, std::span<const double> b)
{
    expects(!a.empty() && !b.empty(), "a rank-sum test needs entries on both sides");
    std::vector<double> all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    const std::vector<double> ranks = averageRanks(all);
    const double m = static_cast<double>(a.size()), n = static_cast<double>(b.size());
    RankSum test;
    test.u =
        std::accumulate(ranks.begin() + static_cast<std::ptrdiff_t>(a.size()), ranks.end(), 0.0) -
        n * (n + 1) / 2;
    double ties = 0;
    for (const double t : tieSizes(all))
        ties += t * t * t - t;
    const double total = m + n;
    const double variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)));
    if (!(variance > 0))
        return test; // all entries are equal
    const double distance = std::max(0.0, std::abs(test.u - m * n / 2) - 0.5);
    test.p = std::min(1.0, 2 * normalCumulative(-distance / std::sqrt(variance)));
    return test;
}

Interval bootstrapInterval(std::size_t count, std::uint64_t seed, int resamples,
                           const std::function<double(std::span<const std::size_t>)>& statistic)
{
    expects(count > 0 && resamples > 0, "bootstrap: at least one thing and one resample");
    std::vector<std::size_t> drawn(count);
    std::iota(drawn.begin(), drawn.end(), 0);
    Interval result{statistic(drawn), 0, 0};
    std::vector<double> values;
    for (int r = 0; r < resamples; ++r) {
        const Rng rng(seed, static_cast<std::uint64_t>(r));
        for (std::size_t i = 0; i < count; ++i)
            drawn[i] = (std::uint64_t{rng.bits(i)} * count) >> 32;
        values.push_back(statistic(drawn));
    }
    result.low = quantile(values, 0.025);
    result.high = quantile(std::move(values), 0.975);
    return result;
}

} // namespace vergence
