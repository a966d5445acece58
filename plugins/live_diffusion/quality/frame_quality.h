#pragma once

#include <array>
#include <span>

#include "core/compute/view.h"

namespace vergence::live {

// Pictures are [3, height, width], planar, range 2 ([−1, 1]). Sums in double.

/// 10 log₁₀(4/mean squared difference), at most kMostPsnr; NaN where a number is not finite.
inline constexpr double kMostPsnr = 100;
double psnr(std::span<const float> picture, std::span<const float> target);
double psnrOfError(double meanSquaredError);

double meanSquaredError(std::span<const float> picture, std::span<const float> target);
/// Length of the difference of the mean colours.
double meanColourDistance(std::span<const float> picture, std::span<const float> target);
/// std(picture)/std(target), over all values; 1 where both are flat.
double contrastRatio(std::span<const float> picture, std::span<const float> target);
/// Mean length of the difference to the right and lower neighbour, per colour.
double meanGradient(std::span<const float> picture, int height, int width);
/// mean |∇picture|/mean |∇target|; 1 where both are flat.
double detailRatio(std::span<const float> picture, std::span<const float> target, int height,
                   int width);
/// mean |Δpicture − Δtarget|, Δ: change from the frame before.
double temporalError(std::span<const float> picture, std::span<const float> before,
                     std::span<const float> target, std::span<const float> targetBefore);

} // namespace vergence::live
