#pragma once

#include <span>

namespace vergence::live {

/// How far a result is from the strict F32 baseline with the same weights, inputs and noise.
struct NumericError {
    double maxAbs = 0;
    double rmse = 0;
    double psnr = 0;   ///< dB, range 2, at most 100
    double cosine = 1; ///< 1 where both are zero
    bool isFinite = true;
};
/// Sums in double. Throws ContractError where the lengths differ or nothing is there.
NumericError numericError(std::span<const float> result, std::span<const float> baseline);

} // namespace vergence::live
