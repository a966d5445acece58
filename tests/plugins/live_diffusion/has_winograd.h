#pragma once

#include "core/compute/device.h"
#include "plugins/live_diffusion/engine/convolution.h"

namespace vergence::live {

/// Whether the library has Winograd convolutions for this processor: without, nothing is timed.
inline bool hasWinograd(const std::shared_ptr<Device>& device)
{
    const auto stream = device->createStream();
    const ConvolutionShape shape{1, 16, 8, 8, 16};
    const std::vector<float> weight(16 * 9 * 16, 1.0f);
    const Convolution made(*stream, device, shape, ConvolutionAlgorithm::Winograd, weight);
    return made.algorithm() == ConvolutionAlgorithm::Winograd;
}

} // namespace vergence::live
