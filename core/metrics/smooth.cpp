#include "core/metrics/metric_store.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/metrics/smoother.h"

namespace vergence {

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
    Smoother smoother(weight);
    for (const double value : values)
        smoothed.push_back(smoother.next(value));
    return smoothed;
}

} // namespace vergence
