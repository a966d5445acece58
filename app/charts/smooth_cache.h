#pragma once

#include <vector>

namespace vergence {

/// smooth() of a growing series: the first time as a whole, then only what was appended.
class SmoothCache {
public:
    /// Equals smooth(values, weight) of core/metrics to rounding; `values` may only have grown
    /// since the last call.
    const std::vector<double>& update(const std::vector<double>& values, double weight);
    void clear();

private:
    std::vector<double> m_smoothed;
    double m_weight = -1;
    double m_average = 0, m_remaining = 1; // as in smooth(): the running sum and weight^n
    bool m_isConstant = false;
};

} // namespace vergence
