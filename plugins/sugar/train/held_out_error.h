#pragma once

#include <vector>

#include "plugins/sugar/compute/rasteriser.h"
#include "plugins/sugar/train/training_pictures.h"

namespace vergence::sugar {

/// Mean over channels of |render − photograph|, [H·W]; 0 where the mask is 0.
/// `render`: [3, H, W] on any device, clamped to [0, 1].
std::vector<float> errorMap(Stream& stream, const Tensor& render, const Photograph& photograph);

/// Which Gaussians held-out pictures go wrong with: for each the mean of the error map over the
/// pixels that it is blended into, by its share in them. [N]; 0 where no such picture shows it.
std::vector<float> heldOutErrors(Stream& stream, const Gaussians& gaussians,
                                 const RasterSettings& settings, TrainingPictures& pictures,
                                 const std::vector<bool>& isTest);

} // namespace vergence::sugar
