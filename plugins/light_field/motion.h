#pragma once

#include <memory>
#include <vector>

#include "core/artifact/image.h"
#include "core/compute/tensor.h"
#include "plugins/light_field/problem.h"

namespace vergence::light_field {

/// 20 frames of an eye that refocuses from 0 D to 2 D beyond the nearest training accommodation:
/// through the display on the left, the real scene on the right.
std::vector<Image> focusSweep(Stream& stream, const std::shared_ptr<Device>& device,
                              const SweepItem& item, const Geometry& geometry,
                              const Tensor& planes);

/// 15 frames of an eye that moves sideways from −3 mm to +3 mm at the middle accommodation; as
/// above.
std::vector<Image> eyeSweep(Stream& stream, const std::shared_ptr<Device>& device,
                            const SweepItem& item, const Geometry& geometry, const Tensor& planes);

} // namespace vergence::light_field
