#pragma once

#include "plugins/sugar/compute/rasteriser.h"

namespace vergence::sugar {

/// Base learning rates. Source: 3D Gaussian Splatting (2023), section 5 and appendix.
struct LearningRates {
    double position = 1.6e-4, positionFinal = 1.6e-6; ///< times the scene extent
    double shDc = 2.5e-3, shRest = 1.25e-4, opacity = 5e-2, scale = 5e-3, rotation = 1e-3;
};

/// lr0·(lr1/lr0)^(t/T), times the extent; constant after T.
double positionRate(const LearningRates& rates, double extent, double step, double steps);

/// Rates of one step in the order of GaussianArrays.
std::array<float, 6> ratesAt(const LearningRates& rates, double extent, std::int64_t step,
                             std::int64_t steps);

/// One step of Adam over the first `count` rows, every group with its own rate; where `adam.sparse`
/// is set only rows with visible[i] != 0 ([C] U8). Returns how many rows had a gradient that is not
/// finite; they are left as they are. Afterwards ln s is kept in [−20, ln(10 extent)], or below
/// where `adam` says so, and the logit in [−12, 12]. Moments may be compact. Bit for bit what
/// Rasteriser::backwardAndUpdate() does with the same gradients.
Index adamUpdate(Stream& stream, Gaussians& gaussians, const GaussianArrays& gradients,
                 GaussianArrays& moment1, GaussianArrays& moment2, const AdamStep& adam,
                 const Tensor& visible, double extent);

/// Quaternions to norm 1.
void normaliseRotations(Stream& stream, Gaussians& gaussians);

} // namespace vergence::sugar
