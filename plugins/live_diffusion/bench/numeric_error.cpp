#include "plugins/live_diffusion/bench/numeric_error.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::live {

namespace {

constexpr double kMostDecibels = 100;

} // namespace

NumericError numericError(std::span<const float> result, std::span<const float> baseline)
{
    expects(!result.empty() && result.size() == baseline.size(),
            "numericError: both have the same length, at least 1");
    NumericError error;
    double squares = 0, ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double a = result[i], b = baseline[i];
        error.isFinite = error.isFinite && std::isfinite(a) && std::isfinite(b);
        error.maxAbs = std::max(error.maxAbs, std::abs(a - b));
        squares += (a - b) * (a - b);
        ab += a * b;
        aa += a * a;
        bb += b * b;
    }
    const double mean = squares / static_cast<double>(result.size());
    error.rmse = std::sqrt(mean);
    error.psnr = mean > 0 ? std::min(kMostDecibels, 10 * std::log10(4 / mean)) : kMostDecibels;
    const double norms = std::sqrt(aa) * std::sqrt(bb);
    error.cosine = norms > 0 ? ab / norms : (aa == bb ? 1 : 0);
    return error;
}

} // namespace vergence::live
