#include "plugins/mc_embedding/statistics/prediction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/compute/rng.h"
#include "plugins/mc_embedding/compute/perturbation.h"
#include "plugins/mc_embedding/statistics/ranks.h"

namespace vergence::mc_embedding {

namespace {

/// What the draws of this file are for; the level bits of the last counter word.
enum class Draw : std::uint32_t { Resample = 0, Half = 1 };

/// Random words of one resample or half. Counter as in section 4.2 of the specification: c2 =
/// round, c3 = purpose and level.
Rng drawsOf(std::uint64_t seed, Draw what, int round)
{
    const std::uint32_t last = static_cast<std::uint32_t>(Purpose::Bootstrap) << 24 |
                               static_cast<std::uint32_t>(what) << 16;
    return Rng(seed, std::uint64_t{last} << 32 | static_cast<std::uint32_t>(round));
}

/// Uniform in 0 … n − 1 from 32 random bits.
std::size_t below(std::uint32_t bits, std::size_t n)
{
    return static_cast<std::size_t>(std::uint64_t{bits} * n >> 32);
}

std::vector<std::size_t> shuffled(std::size_t n, const Rng& rng)
{
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) // Fisher–Yates
        std::swap(order[i - 1], order[below(rng.bits(i), i)]);
    return order;
}

/// Classes of one image by descending probability with the probability up to and including each.
struct Sorted {
    std::vector<std::size_t> classes;
    std::vector<double> cumulative;

    explicit Sorted(std::span<const double> probabilities) : classes(probabilities.size())
    {
        expects(!classes.empty(), "a prediction set needs classes");
        std::iota(classes.begin(), classes.end(), std::size_t{0});
        std::stable_sort(classes.begin(), classes.end(), [&](std::size_t a, std::size_t b) {
            return probabilities[a] > probabilities[b];
        });
        double sum = 0;
        for (std::size_t c : classes)
            cumulative.push_back(sum += probabilities[c]);
    }
    std::size_t position(std::size_t label) const
    {
        const auto at = std::find(classes.begin(), classes.end(), label);
        expects(at != classes.end(), "a label is one of the classes");
        return static_cast<std::size_t>(at - classes.begin());
    }
    std::size_t setSize(double q) const
    {
        const auto end = std::upper_bound(cumulative.begin(), cumulative.end(), q);
        return std::max<std::size_t>(1, static_cast<std::size_t>(end - cumulative.begin()));
    }
};

/// 0 … 3 by rank; equal values share a quartile.
std::vector<std::size_t> quartiles(std::span<const double> x)
{
    const std::vector<double> ranks = averageRanks(x);
    std::vector<std::size_t> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        out[i] = static_cast<std::size_t>((ranks[i] - 0.5) * 4 / static_cast<double>(x.size()));
    return out;
}

/// Judgements of sets, summed.
struct Tally {
    double images = 0, covered = 0, size = 0;

    void add(bool isCovered, std::size_t setSize)
    {
        ++images;
        covered += isCovered;
        size += static_cast<double>(setSize);
    }
};

} // namespace

std::vector<double> softmax(std::span<const double> logits)
{
    expects(!logits.empty(), "a softmax needs logits");
    const double largest = *std::max_element(logits.begin(), logits.end());
    std::vector<double> out;
    for (double logit : logits)
        out.push_back(std::exp(logit - largest));
    const double sum = std::accumulate(out.begin(), out.end(), 0.0);
    for (double& p : out)
        p /= sum;
    return out;
}

double entropy(std::span<const double> probabilities)
{
    double sum = 0;
    for (double p : probabilities)
        sum -= p > 0 ? p * std::log(p) : 0;
    return sum;
}

double margin(std::span<const double> logits)
{
    expects(logits.size() >= 2, "a margin needs two classes");
    std::vector<double> top(logits.begin(), logits.end());
    std::partial_sort(top.begin(), top.begin() + 2, top.end(), std::greater<>());
    return top[0] - top[1];
}

double promptSensitivity(const std::vector<std::vector<double>>& logits)
{
    std::vector<double> largest;
    for (const std::vector<double>& one : logits) {
        const std::vector<double> p = softmax(one);
        largest.push_back(*std::max_element(p.begin(), p.end()));
    }
    if (largest.size() < 2)
        return std::numeric_limits<double>::quiet_NaN();
    const double n = static_cast<double>(largest.size());
    const double mean = std::accumulate(largest.begin(), largest.end(), 0.0) / n;
    double squares = 0;
    for (double p : largest)
        squares += (p - mean) * (p - mean);
    return squares / (n - 1);
}

Interval bootstrap(std::size_t n,
                   const std::function<Figure(std::span<const std::size_t>)>& statistic,
                   int resamples, double alpha, std::uint64_t seed)
{
    expects(alpha > 0 && alpha < 1, "the level of an interval lies inside (0, 1)");
    const auto none = [](const char* why) {
        return Interval{Figure::none(why), Figure::none(why)};
    };
    if (n == 0 || resamples <= 0)
        return none(n == 0 ? "no entries" : "no resamples asked for");
    std::vector<double> values;
    std::vector<std::size_t> indices(n);
    for (int r = 0; r < resamples; ++r) {
        const Rng rng = drawsOf(seed, Draw::Resample, r);
        for (std::size_t i = 0; i < n; ++i)
            indices[i] = below(rng.bits(i), n);
        if (const Figure figure = statistic(indices); figure.exists())
            values.push_back(figure.value);
    }
    if (2 * values.size() < static_cast<std::size_t>(resamples))
        return none("most resamples have no figure");
    return {quantile(values, alpha / 2), quantile(values, 1 - alpha / 2)};
}

double conformalQuantile(std::vector<double> scores, double level)
{
    expects(level > 0 && level < 1, "a coverage level lies inside (0, 1)");
    // A product such as 10 · 0.7 must not count as more than 7.
    const double exact = static_cast<double>(scores.size() + 1) * level;
    const std::size_t rank = static_cast<std::size_t>(std::max(1.0, std::ceil(exact - 1e-9)));
    if (rank > scores.size())
        return std::numeric_limits<double>::infinity();
    const auto at = scores.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(scores.begin(), at, scores.end());
    return *at;
}

double apsScore(std::span<const double> probabilities, std::size_t label)
{
    const Sorted sorted(probabilities);
    return sorted.cumulative[sorted.position(label)];
}

std::vector<std::size_t> apsSet(std::span<const double> probabilities, double q)
{
    Sorted sorted(probabilities);
    sorted.classes.resize(sorted.setSize(q));
    return sorted.classes;
}

Coverage conformalCoverage(const std::vector<std::vector<double>>& probabilities,
                           std::span<const std::size_t> labels, std::span<const double> uncertainty,
                           double level, int halves, std::uint64_t seed)
{
    const std::size_t n = probabilities.size();
    expects(n >= 2 && halves >= 1, "coverage needs two images and one split");
    expects(labels.size() == n && uncertainty.size() == n,
            "every image needs a label and an uncertainty");
    std::vector<Sorted> sorted;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < n; ++i) {
        sorted.emplace_back(probabilities[i]);
        positions.push_back(sorted.back().position(labels[i]));
    }
    const std::vector<std::size_t> quarter = quartiles(uncertainty);
    Tally all;
    std::vector<Tally> byQuarter(4);
    std::vector<double> sizes;
    for (int half = 0; half < halves; ++half) {
        const std::vector<std::size_t> order = shuffled(n, drawsOf(seed, Draw::Half, half));
        std::vector<double> scores;
        for (std::size_t j = 0; j < n / 2; ++j)
            scores.push_back(sorted[order[j]].cumulative[positions[order[j]]]);
        const double q = conformalQuantile(std::move(scores), level);
        for (std::size_t j = n / 2; j < n; ++j) {
            const std::size_t i = order[j], size = sorted[i].setSize(q);
            all.add(positions[i] < size, size);
            byQuarter[quarter[i]].add(positions[i] < size, size);
            sizes.push_back(static_cast<double>(size));
        }
    }
    Coverage out;
    out.level = level;
    out.coverage = all.covered / all.images;
    out.meanSize = all.size / all.images;
    out.medianSize = quantile(sizes, 0.5);
    out.sizePerClass = out.meanSize / static_cast<double>(probabilities.front().size());
    for (const Tally& tally : byQuarter) { // 0/0 = NaN where a quartile is empty
        out.coverageByQuartile.push_back(tally.covered / tally.images);
        out.sizeByQuartile.push_back(tally.size / tally.images);
    }
    return out;
}

MeanConvergence fitMeanConvergence(std::span<const double> passes, std::span<const double> squares)
{
    expects(passes.size() == squares.size() && passes.size() >= 2,
            "the fit needs two distances with their passes");
    const double n = static_cast<double>(passes.size());
    double meanX = 0, meanY = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        meanX += 1 / passes[i] / n;
        meanY += squares[i] / n;
    }
    double xx = 0, xy = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const double x = 1 / passes[i] - meanX;
        xx += x * x;
        xy += x * (squares[i] - meanY);
    }
    expects(xx > 0, "the fit needs two different numbers of passes");
    const double slope = xy / xx;
    return {.bias2 = meanY - slope * meanX, .variance = slope};
}

} // namespace vergence::mc_embedding
