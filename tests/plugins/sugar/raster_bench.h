#pragma once

#include <array>
#include <vector>

#include "plugins/sugar/compute/rasteriser.h"
#include "tests/plugins/sugar/raster_support.h"

namespace vergence::sugar::fixtures {

/// What the reference needs of the settings.
inline ReferenceSettings referenceOf(const Camera& camera, const RasterSettings& settings)
{
    ReferenceSettings out;
    out.camera = camera;
    out.blur = screenFilter<double>(settings.mip);
    out.near = static_cast<double>(settings.near);
    out.far = static_cast<double>(settings.far);
    for (std::size_t k = 0; k < 3; ++k)
        out.background[k] = static_cast<double>(settings.background[k]);
    return out;
}

/// A rasteriser on a device with a cloud, and its results on the host.
class RasterBench {
public:
    RasterBench(const std::shared_ptr<Device>& on, const GaussianCloud& cloud, Index capacity = 0)
        : device(on),
          stream(on->createStream()),
          raster(on),
          gaussians(
              upload(*stream, on, cloud, std::max<Index>(capacity, cloud.count()), cloud.degree))
    {
    }

    Images render(const Camera& camera, const RasterSettings& settings)
    {
        const RasterImages& images = raster.render(*stream, gaussians, camera, settings, true);
        Images out;
        out.colour = doubles(images.colour);
        out.transmittance = doubles(images.transmittance);
        out.contributors = images.contributors.isEmpty()
                               ? std::vector<int>()
                               : images.contributors.toHost<std::int32_t>(*stream);
        if (settings.geometry) {
            out.depth = doubles(images.depth);
            out.normal = doubles(images.normal);
        }
        return out;
    }

    RasterImageGradients upload3(const Camera& camera, const Images& weights, bool geometry) const
    {
        const Index h = camera.height, w = camera.width;
        RasterImageGradients out;
        out.colour = tensor(weights.colour, {3, h, w});
        out.coverage = tensor(weights.transmittance, {h, w});
        if (geometry) {
            out.depth = tensor(weights.depth, {h, w});
            out.normal = tensor(weights.normal, {3, h, w});
        }
        return out;
    }

    GaussianArrays zeros() const
    {
        return GaussianArrays::zeros(*stream, device, gaussians.value.capacity(),
                                     gaussians.value.degree());
    }

    DensityStatistics statistics() const
    {
        const Index n = gaussians.value.capacity();
        DensityStatistics out;
        for (Tensor* t : {&out.gradient, &out.absoluteGradient, &out.visible, &out.radius})
            *t = Tensor::zeros(*stream, device, {n});
        return out;
    }

    /// Gradient arrays as parameters, so that they compare with those of the reference.
    Parameters host(const GaussianArrays& arrays) const
    {
        return parametersOf(download(*stream, {gaussians.count, arrays, {}}));
    }

    std::vector<double> doubles(const Tensor& tensor) const
    {
        const auto values = tensor.toHost<float>(*stream);
        return {values.begin(), values.end()};
    }

    Tensor tensor(const std::vector<double>& values, Shape shape) const
    {
        const std::vector<float> floats(values.begin(), values.end());
        return Tensor::fromHost<float>(*stream, device, std::move(shape), floats);
    }

    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    Rasteriser raster;
    Gaussians gaussians;
};

} // namespace vergence::sugar::fixtures
