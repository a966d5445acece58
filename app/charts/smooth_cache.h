#pragma once

#include <vector>

#include "core/metrics/smoother.h"

namespace vergence {

/// smooth() of a growing series that looks at appended values only.
class SmoothCache {
public:
    /// Equals smooth(values, weight) of core/metrics; `values` may only have grown since the last
    /// call.
    const std::vector<double>& update(const std::vector<double>& values, double weight);
    void clear();

private:
    void restart(std::size_t expected, double weight);

    std::vector<double> m_smoothed;
    double m_weight = -1;
    Smoother m_smoother;
    bool m_isConstant = true; ///< so far, and so drawn as it is
};

} // namespace vergence
