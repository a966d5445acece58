#include "plugins/mc_embedding/study/experiments/mean_convergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/mc_embedding/statistics/figure_json.h"

namespace vergence::mc_embedding {

namespace {

struct Distances {
    std::vector<double> squared, relative; ///< per count of passes, means over trials
    double traceSum = 0;
};

/// Walks through the passes of every trial once; distances are taken where a count is reached.
Distances distancesOf(const PassCloud& cloud, std::size_t trials, std::span<const int> counts)
{
    const std::size_t dimensions = cloud.passes.columns, passes = cloud.passes.rows / trials;
    const std::vector<double>& reference = cloud.deterministic;
    const double norm =
        std::sqrt(std::inner_product(reference.begin(), reference.end(), reference.begin(), 0.0));
    Distances result;
    result.squared.assign(counts.size(), 0);
    result.relative.assign(counts.size(), 0);
    for (std::size_t trial = 0; trial < trials; ++trial) {
        std::vector<double> sum(dimensions, 0), squares(dimensions, 0);
        for (std::size_t t = 0; t < passes; ++t) {
            for (std::size_t d = 0; d < dimensions; ++d) {
                const double shift = cloud.passes(trial * passes + t, d) - reference[d];
                sum[d] += shift;
                squares[d] += shift * shift;
            }
            const double count = static_cast<double>(t + 1);
            for (std::size_t i = 0; i < counts.size(); ++i) {
                if (static_cast<std::size_t>(counts[i]) != t + 1)
                    continue;
                double distance = 0;
                for (const double value : sum)
                    distance += value / count * (value / count);
                result.squared[i] += distance / static_cast<double>(trials);
                result.relative[i] += std::sqrt(distance) / norm / static_cast<double>(trials);
            }
        }
        const double count = static_cast<double>(passes);
        for (std::size_t d = 0; d < dimensions; ++d)
            result.traceSum += std::max(0.0, squares[d] - sum[d] * sum[d] / count) / (count - 1) /
                               static_cast<double>(trials);
    }
    return result;
}

/// Slope of ln y over ln x by least squares.
Figure logSlope(std::span<const double> x, std::span<const double> y)
{
    double meanX = 0, meanY = 0, xx = 0, xy = 0;
    const double n = static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!(y[i] > 0))
            return Figure::none("a distance of 0 has no logarithm");
        meanX += std::log(x[i]) / n;
        meanY += std::log(y[i]) / n;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double dx = std::log(x[i]) - meanX;
        xx += dx * dx;
        xy += dx * (std::log(y[i]) - meanY);
    }
    return xy / xx;
}

} // namespace

MeanConvergenceResult meanConvergence(std::span<const PassCloud> clouds, int trials,
                                      std::span<const int> passes)
{
    expects(!clouds.empty() && trials > 0, "meanConvergence: an image and a trial or more");
    expects(passes.size() >= 2, "meanConvergence: two counts of passes or more");
    const auto trialCount = static_cast<std::size_t>(trials);
    MeanConvergenceResult result;
    result.passes.assign(passes.begin(), passes.end());
    result.squaredDistance.assign(passes.size(), 0);
    result.relativeDistance.assign(passes.size(), 0);
    const std::vector<double> counts(passes.begin(), passes.end());
    const double images = static_cast<double>(clouds.size());
    for (const PassCloud& cloud : clouds) {
        const std::size_t each = cloud.passes.rows / trialCount;
        expects(
            each >= 2 && cloud.passes.rows == each * trialCount &&
                cloud.deterministic.size() == cloud.passes.columns,
            "meanConvergence: two passes or more in every trial, and the deterministic feature");
        expects(std::all_of(passes.begin(), passes.end(),
                            [&](int count) {
                                return count >= 1 && static_cast<std::size_t>(count) <= each;
                            }),
                "meanConvergence: counts from 1 to the passes of a trial");
        const Distances one = distancesOf(cloud, trialCount, passes);
        for (std::size_t i = 0; i < passes.size(); ++i) {
            result.squaredDistance[i] += one.squared[i] / images;
            result.relativeDistance[i] += one.relative[i] / images;
        }
        result.traceSum += one.traceSum / images;
        result.fits.push_back(fitMeanConvergence(counts, one.squared));
    }
    result.fit = fitMeanConvergence(counts, result.squaredDistance);
    for (const double count : counts)
        result.sampling.push_back(result.traceSum / count);
    result.logSlope = logSlope(counts, result.relativeDistance);
    return result;
}

nlohmann::json toJson(const MeanConvergenceResult& result)
{
    nlohmann::json json = {{"passes", result.passes},
                           {"squared_distance", result.squaredDistance},
                           {"relative_distance", result.relativeDistance},
                           {"bias2", result.fit.bias2},
                           {"variance", result.fit.variance},
                           {"trace_sum", result.traceSum},
                           {"sampling_part", result.sampling},
                           {"num_images", result.fits.size()}};
    setFigure(json, "log_log_slope", result.logSlope);
    return json;
}

} // namespace vergence::mc_embedding
