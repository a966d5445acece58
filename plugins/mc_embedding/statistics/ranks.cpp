#include "plugins/mc_embedding/statistics/ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

bool hasNan(std::span<const double> x)
{
    return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

bool isConstant(std::span<const double> x)
{
    return std::all_of(x.begin(), x.end(), [&](double v) { return v == x.front(); });
}

/// Why x and y have no correlation; empty where they have one.
std::string obstacle(std::span<const double> x, std::span<const double> y)
{
    expects(x.size() == y.size(), "a correlation needs two lists of equal length");
    if (x.size() < 2)
        return "needs two entries";
    if (hasNan(x) || hasNan(y))
        return "an entry is not a number";
    if (isConstant(x) || isConstant(y))
        return "one side is constant";
    return {};
}

std::vector<std::size_t> ascendingOrder(std::span<const double> x)
{
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
    return order;
}

/// P(W⁺ ≥ w) for n differences of random sign: subsets of 1 … n by their sum.
double exactSignedRankTail(std::size_t n, double w)
{
    const std::size_t largest = n * (n + 1) / 2;
    std::vector<double> subsets(largest + 1, 0.0);
    subsets[0] = 1;
    for (std::size_t rank = 1; rank <= n; ++rank)
        for (std::size_t sum = largest; sum >= rank; --sum)
            subsets[sum] += subsets[sum - rank];
    const auto first = subsets.begin() + static_cast<std::ptrdiff_t>(std::llround(w));
    return std::accumulate(first, subsets.end(), 0.0) * std::exp2(-static_cast<double>(n));
}

} // namespace

Figure pearson(std::span<const double> x, std::span<const double> y)
{
    if (std::string why = obstacle(x, y); !why.empty())
        return Figure::none(std::move(why));
    const double n = static_cast<double>(x.size());
    const double meanX = std::accumulate(x.begin(), x.end(), 0.0) / n;
    const double meanY = std::accumulate(y.begin(), y.end(), 0.0) / n;
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double dx = x[i] - meanX, dy = y[i] - meanY;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    if (!std::isfinite(xx) || !std::isfinite(yy))
        return Figure::none("an entry is not finite");
    return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

Figure spearman(std::span<const double> x, std::span<const double> y)
{
    if (std::string why = obstacle(x, y); !why.empty())
        return Figure::none(std::move(why));
    return pearson(averageRanks(x), averageRanks(y));
}

Figure kendallTauB(std::span<const double> x, std::span<const double> y)
{
    if (std::string why = obstacle(x, y); !why.empty())
        return Figure::none(std::move(why));
    double balance = 0, untiedX = 0, untiedY = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            const int signX = (x[i] > x[j]) - (x[i] < x[j]);
            const int signY = (y[i] > y[j]) - (y[i] < y[j]);
            balance += signX * signY;
            untiedX += signX != 0;
            untiedY += signY != 0;
        }
    return balance / std::sqrt(untiedX * untiedY);
}

Figure auroc(std::span<const double> scores, std::span<const char> positives)
{
    expects(scores.size() == positives.size(), "every score needs its class");
    if (hasNan(scores))
        return Figure::none("a score is not a number");
    const std::vector<double> ranks = averageRanks(scores);
    double count = 0, rankSum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (positives[i]) {
            ++count;
            rankSum += ranks[i];
        }
    const double others = static_cast<double>(ranks.size()) - count;
    if (count == 0 || others == 0)
        return Figure::none(count == 0 ? "no positive image" : "no negative image");
    return (rankSum - count * (count + 1) / 2) / (count * others);
}

RocCurve rocCurve(std::span<const double> scores, std::span<const char> positives)
{
    RocCurve curve;
    if (!auroc(scores, positives).exists())
        return curve;
    const auto total = static_cast<double>(
        std::count_if(positives.begin(), positives.end(), [](char c) { return c != 0; }));
    const double others = static_cast<double>(positives.size()) - total;
    curve.falsePositive = {0};
    curve.truePositive = {0};
    const std::vector<std::size_t> order = ascendingOrder(scores);
    double hits = 0, alarms = 0;
    for (std::size_t i = order.size(); i-- > 0;) {
        ++(positives[order[i]] ? hits : alarms);
        if (i > 0 && scores[order[i - 1]] == scores[order[i]])
            continue; // equal scores cross the threshold together
        curve.falsePositive.push_back(alarms / others);
        curve.truePositive.push_back(hits / total);
    }
    return curve;
}

Wilcoxon wilcoxonGreater(std::span<const double> x)
{
    Wilcoxon test;
    std::vector<double> sizes;
    std::vector<char> isPositive;
    for (double v : x) {
        if (std::isnan(v)) {
            test.p = Figure::none("a difference is not a number");
            return test;
        }
        if (v != 0) {
            sizes.push_back(std::abs(v));
            isPositive.push_back(v > 0);
        }
    }
    if (sizes.empty()) {
        test.p = Figure::none("all differences are zero");
        return test;
    }
    const std::vector<double> ranks = averageRanks(sizes);
    for (std::size_t i = 0; i < ranks.size(); ++i)
        test.statistic += isPositive[i] ? ranks[i] : 0;

    const std::vector<double> ties = tieSizes(sizes);
    if (sizes.size() <= 25 && ties.empty()) {
        test.p = exactSignedRankTail(sizes.size(), test.statistic);
        return test;
    }
    const double n = static_cast<double>(sizes.size());
    double variance = n * (n + 1) * (2 * n + 1) / 24;
    for (double t : ties)
        variance -= (t * t * t - t) / 48;
    test.p = normalCumulative((n * (n + 1) / 4 - test.statistic) / std::sqrt(variance));
    return test;
}

} // namespace vergence::mc_embedding
