#include "core/metrics/metric_store.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence {

namespace {
constexpr double kNegligible =
    1e-20; // 1 minus less is 1; and multiplying on would end in slow subnormal numbers
}

std::vector<double> smooth(const std::vector<double>& values, double weight)
{
    expects(weight >= 0 && weight < 1, "metrics: the weight of smoothing lies in [0, 1)");
    // TensorBoard leaves constant series alone, so that rounding does not make them waver.
    const bool isConstant = std::all_of(values.begin(), values.end(),
                                        [&](double value) { return value == values.front(); });
    if (isConstant)
        return values;
    std::vector<double> smoothed;
    smoothed.reserve(values.size());
    double average = 0, remaining = 1; // remaining: weight to the power of the values so far
    for (const double value : values) {
        if (!std::isfinite(value)) {
            smoothed.push_back(value);
            continue;
        }
        average = average * weight + (1 - weight) * value;
        remaining = remaining < kNegligible ? 0 : remaining * weight;
        smoothed.push_back(average / (1 - remaining));
    }
    return smoothed;
}

} // namespace vergence
