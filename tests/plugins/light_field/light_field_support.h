#pragma once

#include <memory>
#include <vector>

#include "core/compute/device.h"
#include "core/compute/rng.h"
#include "core/compute/tensor.h"
#include "plugins/light_field/compute/eye.h"
#include "plugins/light_field/compute/optics.h"
#include "plugins/light_field/compute/table_operator.h"

namespace vergence::light_field {

/// The display of the demo preset.
inline Optics demoOptics(int planes = 8)
{
    Optics optics;
    optics.headroom = planes;
    optics.focalLengths = focalLengthsUniformInVergence(optics, planes, 140, 220);
    return optics;
}

/// A display small enough for proofs: K 4, R 128, W 64.
inline Optics smallOptics()
{
    Optics optics = demoOptics(4);
    optics.panelResolution = 128;
    optics.renderResolution = 64;
    return optics;
}

template <class Real>
Tensor randomTensor(Stream& stream, const std::shared_ptr<Device>& device, Shape shape,
                    std::uint64_t seed, Real low, Real high)
{
    const Rng rng(seed);
    std::vector<Real> values(static_cast<std::size_t>(elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = low + (high - low) * static_cast<Real>(rng.uniform(i));
    return Tensor::fromHost<Real>(stream, device, std::move(shape), values);
}

template <class Real>
double innerProduct(Stream& stream, const Tensor& a, const Tensor& b)
{
    const auto x = a.toHost<Real>(stream), y = b.toHost<Real>(stream);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return sum;
}

} // namespace vergence::light_field
