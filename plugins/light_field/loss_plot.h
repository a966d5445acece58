#pragma once

#include "core/artifact/image.h"
#include "plugins/light_field/result.h"

namespace vergence::light_field {

/// 640 × 400 picture of a loss history: mse of the training states and of the held-out ones (from
/// their PSNR in the ROI) over iterations, logarithmic y axis.
Image plotLoss(const ItemResult& result, const std::string& title);

} // namespace vergence::light_field
