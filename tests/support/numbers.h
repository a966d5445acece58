#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace vergence::test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool isClose(double a, double b, double tolerance = 1e-12)
{
    return std::abs(a - b) <= tolerance;
}

/// Empty where |got − want| ≤ absolute + relative · |want| for all entries, otherwise a message
/// that names the worst entry and the share of the tolerance it used. Entries that are not finite
/// must be equal in kind.
template <class A, class B>
std::string difference(std::span<const A> got, std::span<const B> want, double absolute,
                       double relative)
{
    if (got.size() != want.size())
        return fmt::format("{} entries instead of {}", got.size(), want.size());
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
        double used = 0;
        if (!std::isfinite(w) || !std::isfinite(g))
            used = (g == w || (std::isnan(g) && std::isnan(w))) ? 0 : HUGE_VAL;
        else if (g != w)
            used = std::abs(g - w) / (absolute + relative * std::abs(w));
        if (used > worst) {
            worst = used;
            at = i;
        }
    }
    if (worst <= 1)
        return {};
    return fmt::format("entry {}: {} instead of {}, {:.3g} times the tolerance", at,
                       static_cast<double>(got[at]), static_cast<double>(want[at]), worst);
}

template <class A, class B>
std::string difference(const std::vector<A>& got, const std::vector<B>& want, double absolute,
                       double relative)
{
    return difference(std::span<const A>(got), std::span<const B>(want), absolute, relative);
}

/// Central differences of `function` at `x` (step 6e-6 · max(1, |x|)), compared with `gradient` to
/// `relative` · max(largest |gradient|, 1e-3). At most `probes` entries, evenly spread, are varied.
/// Empty where all agree.
inline std::string
gradientDifference(const std::function<double(const std::vector<double>&)>& function,
                   std::vector<double> x, const std::vector<double>& gradient,
                   double relative = 1e-6, std::size_t probes = 64)
{
    if (gradient.size() != x.size())
        return fmt::format("a gradient of {} entries for {} inputs", gradient.size(), x.size());
    double largest = 1e-3;
    for (const double g : gradient)
        largest = std::max(largest, std::abs(g));
    const std::size_t stride =
        std::max<std::size_t>(1, x.size() / std::max<std::size_t>(probes, 1));
    for (std::size_t i = 0; i < x.size(); i += stride) {
        const double kept = x[i], step = 6e-6 * std::max(1.0, std::abs(kept));
        x[i] = kept + step;
        const double above = function(x);
        x[i] = kept - step;
        const double below = function(x);
        x[i] = kept;
        const double numeric = (above - below) / (2 * step);
        if (!(std::abs(numeric - gradient[i]) <= relative * largest))
            return fmt::format("entry {}: derivative {} but central difference {} (largest {})", i,
                               gradient[i], numeric, largest);
    }
    return {};
}

} // namespace vergence::test

/// Fails the running test with the message of difference() or gradientDifference().
#define VERGENCE_AGREES(message)                                                                   \
    do {                                                                                           \
        const std::string text = (message);                                                        \
        QVERIFY2(text.empty(), text.c_str());                                                      \
    } while (false)
