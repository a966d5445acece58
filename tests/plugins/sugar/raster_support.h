#pragma once

#include <cmath>
#include <random>

#include "plugins/sugar/compute/gaussians.h"
#include "plugins/sugar/compute/reference_raster.h"

namespace vergence::sugar::fixtures {

using Parameters = ReferenceParameters<double>;
using Raster = ReferenceRaster<double>;
using Images = ReferenceImages<double>;

/// The camera of cases 17.1 to 17.4 of the specification.
inline Camera plainCamera(int width = 64, int height = 64)
{
    Camera camera;
    camera.fx = camera.fy = 100;
    camera.cx = 32;
    camera.cy = 32;
    camera.width = width;
    camera.height = height;
    return camera;
}

/// Not square, the principal point off the middle, pixels not square, turned a little.
inline Camera oddCamera(int width = 40, int height = 28)
{
    Camera camera = lookingAt({0.2, -0.1, -3}, {0, 0, 0}, {0.1, -1, 0.05}, 30, width, height);
    camera.fy = 33;
    camera.cx = 0.5 * width + 3.3;
    camera.cy = 0.5 * height - 2.1;
    return camera;
}

inline double logit(double o)
{
    return std::log(o / (1 - o));
}

/// Adds one Gaussian of degree 0.
inline void add(Parameters& to, const std::vector<double>& position,
                const std::vector<double>& scale, const std::vector<double>& rotation,
                double opacity, const std::vector<double>& colour)
{
    to.position.insert(to.position.end(), position.begin(), position.end());
    for (const double s : scale)
        to.logScale.push_back(std::log(s));
    to.rotation.insert(to.rotation.end(), rotation.begin(), rotation.end());
    to.opacity.push_back(logit(opacity));
    for (const double c : colour)
        to.sh.push_back((c - 0.5) / ShConstants<double>::c0);
}

/// `count` Gaussians about the origin, seen well by oddCamera().
inline Parameters randomGaussians(int count, int degree, unsigned seed, double size = 0.12)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    Parameters out;
    out.degree = degree;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < 3; ++k)
            out.position.push_back(1.2 * unit(random));
        for (int k = 0; k < 3; ++k)
            out.logScale.push_back(std::log(size) + 0.8 * unit(random));
        for (int k = 0; k < 4; ++k)
            out.rotation.push_back(1.7 * unit(random));
        out.opacity.push_back(2 * unit(random));
        for (int k = 0; k < 3 * shCoefficients(degree); ++k)
            out.sh.push_back(k < 3 ? unit(random) : 0.15 * unit(random));
    }
    return out;
}

/// As the rasterisers under test take it; rounded to float.
inline GaussianCloud cloudOf(const Parameters& from)
{
    GaussianCloud cloud;
    cloud.degree = from.degree;
    cloud.position.assign(from.position.begin(), from.position.end());
    cloud.logScale.assign(from.logScale.begin(), from.logScale.end());
    cloud.rotation.assign(from.rotation.begin(), from.rotation.end());
    cloud.opacity.assign(from.opacity.begin(), from.opacity.end());
    cloud.filter.assign(from.filter.begin(), from.filter.end());
    const auto n = static_cast<std::size_t>(shCoefficients(from.degree));
    for (std::size_t i = 0; i < from.sh.size(); ++i)
        (i / 3 % n == 0 ? cloud.shDc : cloud.shRest).push_back(static_cast<float>(from.sh[i]));
    return cloud;
}

/// The numbers of a cloud again, so that both sides start from the same floats.
inline Parameters parametersOf(const GaussianCloud& from)
{
    Parameters out;
    out.degree = from.degree;
    out.position.assign(from.position.begin(), from.position.end());
    out.logScale.assign(from.logScale.begin(), from.logScale.end());
    out.rotation.assign(from.rotation.begin(), from.rotation.end());
    out.opacity.assign(from.opacity.begin(), from.opacity.end());
    out.filter.assign(from.filter.begin(), from.filter.end());
    const auto rest = static_cast<std::size_t>(3 * restCoefficients(from.degree));
    for (std::size_t i = 0; i < from.opacity.size(); ++i) {
        out.sh.insert(out.sh.end(), from.shDc.begin() + static_cast<std::ptrdiff_t>(3 * i),
                      from.shDc.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
        out.sh.insert(out.sh.end(), from.shRest.begin() + static_cast<std::ptrdiff_t>(rest * i),
                      from.shRest.begin() + static_cast<std::ptrdiff_t>(rest * (i + 1)));
    }
    return out;
}

/// Weights of a loss that is linear in all images: Σ w · image, coverage in place of transmittance.
inline Images lossWeights(const Camera& camera, unsigned seed, bool geometry = true)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    const auto pixels = static_cast<std::size_t>(camera.width * camera.height);
    Images weights;
    weights.colour.resize(3 * pixels);
    weights.transmittance.resize(pixels);
    weights.depth.assign(pixels, 0);
    weights.normal.assign(3 * pixels, 0);
    std::vector<std::vector<double>*> all{&weights.colour, &weights.transmittance};
    if (geometry) {
        all.push_back(&weights.depth);
        all.push_back(&weights.normal);
    }
    for (std::vector<double>* values : all) {
        for (double& value : *values)
            value = unit(random);
    }
    return weights;
}

inline double lossOf(const Images& images, const Images& weights)
{
    double loss = 0;
    const auto addProduct = [&](const std::vector<double>& a, const std::vector<double>& b) {
        for (std::size_t i = 0; i < a.size(); ++i)
            loss += a[i] * b[i];
    };
    addProduct(images.colour, weights.colour);
    addProduct(images.depth, weights.depth);
    addProduct(images.normal, weights.normal);
    for (std::size_t i = 0; i < images.transmittance.size(); ++i)
        loss += (1 - images.transmittance[i]) * weights.transmittance[i];
    return loss;
}

} // namespace vergence::sugar::fixtures
