#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include <QString>

#include "plugins/sugar/compute/alignment/surface_samples.h"
#include "tests/plugins/sugar/learning_support.h"

namespace vergence::sugar::fixtures {

using Numbers = std::vector<double>;

/// Flat Gaussians on a wavy sheet at z = 3 in front of the camera.
inline GaussianCloud sheetCloud(int side, std::uint64_t seed = 1)
{
    const Index n = static_cast<Index>(side) * side;
    GaussianCloud cloud;
    cloud.degree = 0;
    const std::vector<float> noise = uniformNumbers(12 * n, -1, 1, seed);
    const float spacing = 2.0F / static_cast<float>(side);
    for (Index i = 0; i < n; ++i) {
        const float* random = noise.data() + 12 * i;
        const float x = spacing * static_cast<float>(i % side) - 1,
                    y = spacing * static_cast<float>(i / side) - 1;
        cloud.position.insert(cloud.position.end(),
                              {x + 0.2F * spacing * random[0], y + 0.2F * spacing * random[1],
                               3 + 0.05F * std::sin(4 * x) + 0.01F * random[2]});
        for (int k = 0; k < 3; ++k)
            cloud.logScale.push_back(std::log((k == 2 ? 0.15F : 0.8F) * spacing) +
                                     0.2F * random[3 + k]);
        cloud.rotation.insert(cloud.rotation.end(),
                              {1.2F, 0.2F * random[6], 0.2F * random[7], 0.5F * random[8]});
        cloud.opacity.push_back(1 + random[9]);
        cloud.shDc.insert(cloud.shDc.end(), {0.3F, 0.2F, 0.1F});
    }
    return cloud;
}

inline Camera frontCamera(int width = 40, int height = 32)
{
    Camera camera;
    camera.fx = camera.fy = 50;
    camera.cx = 0.5 * width + 0.7;
    camera.cy = 0.5 * height - 0.4;
    camera.width = width;
    camera.height = height;
    return camera;
}

/// Neighbours by brute force, self first.
inline std::vector<std::uint32_t> tableOf(const GaussianCloud& cloud, int k)
{
    const auto n = static_cast<std::size_t>(cloud.count());
    std::vector<std::uint32_t> table;
    for (std::size_t i = 0; i < n; ++i) {
        if (k == 1) {
            table.push_back(static_cast<std::uint32_t>(i));
            continue;
        }
        std::vector<std::pair<double, std::uint32_t>> all;
        for (std::size_t j = 0; j < n; ++j) {
            double squared = j == i ? -1 : 0;
            for (std::size_t a = 0; a < 3; ++a)
                squared += std::pow(static_cast<double>(cloud.position[3 * i + a]) -
                                        static_cast<double>(cloud.position[3 * j + a]),
                                    2);
            all.emplace_back(squared, static_cast<std::uint32_t>(j));
        }
        std::sort(all.begin(), all.end());
        for (int j = 0; j < k; ++j)
            table.push_back(all[std::min(static_cast<std::size_t>(j), n - 1)].second);
    }
    return table;
}

/// Gaussians on a device with room for gradients, and terms about them.
struct Bed {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    Gaussians gaussians;
    GaussianArrays gradients;
    Tensor visible;
    SurfaceSamples samples;
    Rasteriser rasteriser;
    Camera camera = frontCamera();

    Bed(std::shared_ptr<Device> on, const GaussianCloud& cloud, int k = 16, int valid = 16)
        : device(on),
          stream(on->createStream()),
          gaussians(upload(*stream, on, cloud, cloud.count() + 3, cloud.degree)),
          gradients(GaussianArrays::zeros(*stream, on, cloud.count() + 3, 0)),
          samples(on),
          rasteriser(on)
    {
        std::vector<std::int32_t> all(static_cast<std::size_t>(cloud.count()));
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<std::int32_t>(i);
        visible = Tensor::fromHost<std::int32_t>(*stream, on, {cloud.count()}, all);
        samples.setNeighbours(*stream, tableOf(cloud, k), cloud.count(), k, valid);
    }
    SampledView view()
    {
        SampledView seen;
        seen.visible = visible;
        seen.camera = camera;
        RasterSettings raster;
        raster.geometry = true;
        const RasterImages& images = rasteriser.render(*stream, gaussians, camera, raster);
        seen.depth = images.depth;
        seen.transmittance = images.transmittance;
        return seen;
    }
    /// Position, ln s, quaternion and logit of all Gaussians in one row.
    Numbers downloadedGradients()
    {
        Numbers all;
        for (const Tensor& tensor :
             {gradients.position, gradients.logScale, gradients.rotation, gradients.opacity}) {
            for (const float value : tensor.toHost<float>(*stream))
                all.push_back(static_cast<double>(value));
        }
        return all;
    }
};

inline SampleSettings settingsOf(Index samples, bool isDistance = false)
{
    SampleSettings settings;
    settings.samples = samples;
    settings.isDistance = isDistance;
    settings.extent = 2;
    settings.seed = 5;
    settings.step = 7;
    return settings;
}

/// Numbers of the cloud that terms depend on, as downloadedGradients() has them.
inline std::vector<std::vector<float>*> shapeOf(GaussianCloud& cloud)
{
    return {&cloud.position, &cloud.logScale, &cloud.rotation, &cloud.opacity};
}

/// Compares gradients with differences of `loss` along random directions in each group. A float
/// forward pass has few digits, so steps are long and the tolerance follows them.
inline QString directionalDifference(const GaussianCloud& cloud, const Numbers& gradient,
                                     Index capacity,
                                     const std::function<double(const GaussianCloud&)>& loss,
                                     float step, double tolerance)
{
    std::size_t offset = 0;
    GaussianCloud moved = cloud;
    const auto columns = shapeOf(moved);
    for (std::size_t group = 0; group < columns.size(); ++group) {
        const std::vector<float> kept = *columns[group];
        const std::vector<float> direction =
            uniformNumbers(static_cast<Index>(kept.size()), -1, 1, 31 + group);
        double along = 0, size = 0;
        for (std::size_t i = 0; i < kept.size(); ++i) {
            along += gradient[offset + i] * static_cast<double>(direction[i]);
            size += std::abs(gradient[offset + i] * static_cast<double>(direction[i]));
        }
        double values[2];
        for (int side = 0; side < 2; ++side) {
            for (std::size_t i = 0; i < kept.size(); ++i)
                (*columns[group])[i] = kept[i] + (side ? -step : step) * direction[i];
            values[side] = loss(moved);
        }
        *columns[group] = kept;
        const double numeric = (values[0] - values[1]) / (2 * static_cast<double>(step));
        if (!(std::abs(numeric - along) <= tolerance * size))
            return QString("group %1: derivative %2 but difference %3 (size %4)")
                .arg(group)
                .arg(along)
                .arg(numeric)
                .arg(size);
        offset += kept.size() / static_cast<std::size_t>(cloud.count()) *
                  static_cast<std::size_t>(capacity);
    }
    return {};
}

} // namespace vergence::sugar::fixtures
