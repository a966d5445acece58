#pragma once

#include <cstdint>

#include "core/compute/host_device.h"

namespace vergence {

template <class Real>
struct Rotation {
    Real cosine, sine;
};

/// Cosine and sine of an angle up to 1.6e6 in size, within 1e-7 (float) or 3e-16 + 1e-16 · |angle|
/// (double). The angle is reduced to [−π/4, π/4] in double, so that distant positions lose nothing;
/// the series are Taylor's. No branches: loops over it vectorise.
template <class Real>
VERGENCE_HD Rotation<Real> rotationBy(double angle)
{
    constexpr double kRounder = 6755399441055744.0;       // 1.5 · 2^52
    constexpr double kUpper = 1.57079632673412561417;     // 33 bits of π/2: n · kUpper is
    constexpr double kLower = 6.07710050650619224932e-11; // exact for n below 2^20
    const double rounded = angle * 0.63661977236758134308 + kRounder, n = rounded - kRounder;
    const auto quarter = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, rounded));
    const Real r = static_cast<Real>((angle - n * kUpper) - n * kLower), square = r * r;
    constexpr double kSine[] = {
        -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
        -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
    constexpr double kCosine[] = {
        -0.5,           1.0 / 24,        -1.0 / 720,         1.0 / 40320,
        -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};
    constexpr int kTerms = sizeof(Real) == sizeof(double) ? 8 : 5;
    Real sine = Real(kSine[kTerms - 1]), cosine = Real(kCosine[kTerms - 1]);
    for (int i = kTerms - 2; i >= 0; --i) {
        sine = sine * square + Real(kSine[i]);
        cosine = cosine * square + Real(kCosine[i]);
    }
    sine = r + r * square * sine;
    cosine = Real(1) + square * cosine;
    const bool isSwapped = quarter & 1;
    const Real c = isSwapped ? sine : cosine, s = isSwapped ? cosine : sine;
    return {((quarter + 1) & 2) ? -c : c, (quarter & 2) ? -s : s};
}

} // namespace vergence
