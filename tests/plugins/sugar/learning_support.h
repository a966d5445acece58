#pragma once

#include <memory>
#include <vector>

#include "core/compute/rng.h"
#include "plugins/sugar/compute/gaussians.h"

namespace vergence::sugar::fixtures {

/// n numbers in [low, high).
inline std::vector<float> uniformNumbers(Index n, float low, float high, std::uint64_t seed)
{
    const Rng random(seed);
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = low + (high - low) * random.uniform(i);
    return values;
}

/// Gaussians without any order.
inline GaussianCloud madeUpCloud(Index n, int degree, std::uint64_t seed = 1)
{
    GaussianCloud cloud;
    cloud.degree = degree;
    cloud.position = uniformNumbers(3 * n, -1, 1, seed);
    cloud.logScale = uniformNumbers(3 * n, -5, -2, seed + 1);
    cloud.rotation = uniformNumbers(4 * n, -1, 1, seed + 2);
    cloud.opacity = uniformNumbers(n, -3, 3, seed + 3);
    cloud.shDc = uniformNumbers(3 * n, -1, 1, seed + 4);
    cloud.shRest = uniformNumbers(3 * n * restCoefficients(degree), -0.2F, 0.2F, seed + 5);
    return cloud;
}

/// The arrays of a cloud in the order of GaussianArrays::groups().
inline std::vector<std::vector<float>> columnsOf(const GaussianCloud& cloud)
{
    std::vector<std::vector<float>> all{cloud.position, cloud.logScale, cloud.rotation,
                                        cloud.opacity, cloud.shDc};
    if (cloud.degree > 0)
        all.push_back(cloud.shRest);
    return all;
}

/// Arrays on a device as a cloud of `count` rows.
inline GaussianCloud downloaded(Stream& stream, const GaussianArrays& arrays, Index count)
{
    Gaussians gaussians;
    gaussians.count = count;
    gaussians.value = arrays;
    return download(stream, gaussians);
}

/// The first rows of an array as numbers, whatever their type; bytes as they are.
inline std::vector<float> numbersOf(Stream& stream, const Tensor& tensor, Index rows)
{
    const auto numbers = [&](auto type) {
        const auto all = tensor.narrow(0, 0, rows).toHost<decltype(type)>(stream);
        return std::vector<float>(all.begin(), all.end());
    };
    return tensor.dtype() == DType::BF16 ? numbers(BFloat16())
           : tensor.dtype() == DType::U8 ? numbers(std::uint8_t())
                                         : numbers(float());
}

/// Moments as they are stored: compact second ones are roots, and bytes their codes.
inline std::vector<std::vector<float>> columnsOf(Stream& stream, const GaussianArrays& arrays,
                                                 Index count)
{
    std::vector<std::vector<float>> all;
    for (const Tensor& tensor : arrays.groups())
        all.push_back(numbersOf(stream, tensor, count));
    return all;
}

} // namespace vergence::sugar::fixtures
