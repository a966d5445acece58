#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plugins/sugar/io/gaussian_files.h"

namespace vergence::sugar {

// Readers of gaussian_files.h on bytes in memory; `file` is for messages. All throw InputError.
GaussianCloud parseGaussianPly(std::span<const std::byte> bytes, const std::string& file,
                               Index* droppedRows = nullptr);
GaussianCloud parseSplat(std::span<const std::byte> bytes, const std::string& file);
GaussianCloud parseSpz(std::span<const std::byte> bytes, const std::string& file);

/// What a viewer without the 3D smoothing filter must be given.
struct PlainGaussian {
    std::array<double, 3> logScale{};
    double opacity = 0; ///< 0 to 1
};
/// Scales widened by the filter, opacity lowered so that the integral stays.
/// Source: Mip-Splatting (2024), equation 7.
PlainGaussian plainGaussian(const GaussianCloud& cloud, std::size_t i);

/// The first K coefficients of a row of `cloud`, in its own order [K, 3].
std::span<const float> restOf(const GaussianCloud& cloud, std::size_t i);

double logistic(double x);
double logit(double p); ///< of p kept off 0 and 1 by 1e-7

} // namespace vergence::sugar
