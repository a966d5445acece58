#include "plugins/mc_embedding/statistics/distributions.h"

#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace vergence::mc_embedding {

namespace {

/// Continued fraction of the incomplete beta function by Lentz's method. Converges in about
/// √max(a, b) terms for x < (a + 1)/(a + b + 2).
/// Source: Numerical Recipes, 3rd edition (2007), section 6.4.
double betaFraction(double a, double b, double x)
{
    constexpr double kTiny = 1e-300;
    constexpr int kTerms = 100'000;
    const auto away = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
    double c = 1, d = 1 / away(1 - (a + b) * x / (a + 1)), fraction = d;
    for (int m = 1; m < kTerms; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away(1 + even * d);
        c = away(1 + even / c);
        fraction *= c * d;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away(1 + odd * d);
        c = away(1 + odd / c);
        fraction *= c * d;
        if (std::abs(c * d - 1) < std::numeric_limits<double>::epsilon())
            break;
    }
    return fraction;
}

/// I_x(a, b).
double regularisedBeta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                  a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * betaFraction(a, b, x) / a;
    return 1 - front * betaFraction(b, a, 1 - x) / b;
}

} // namespace

double fCumulative(double x, double d1, double d2)
{
    expects(d1 > 0 && d2 > 0, "an F distribution has positive degrees of freedom");
    return x <= 0 ? 0 : regularisedBeta(d1 / 2, d2 / 2, d1 * x / (d1 * x + d2));
}

double fSurvival(double x, double d1, double d2)
{
    expects(d1 > 0 && d2 > 0, "an F distribution has positive degrees of freedom");
    return x <= 0 ? 1 : regularisedBeta(d2 / 2, d1 / 2, d2 / (d1 * x + d2));
}

double fQuantile(double probability, double d1, double d2)
{
    expects(probability > 0 && probability < 1, "a quantile needs a probability inside (0, 1)");
    double low = 0, high = 1;
    while (fCumulative(high, d1, d2) < probability)
        high *= 2;
    for (;;) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high)
            return high;
        (fCumulative(middle, d1, d2) < probability ? low : high) = middle;
    }
}

} // namespace vergence::mc_embedding
