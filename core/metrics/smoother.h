#pragma once

#include <cmath>

namespace vergence {

/// One series' debiased exponential mean, value by value, as TensorBoard smooths.
class Smoother {
public:
    /// `weight` of what came before, in [0, 1).
    explicit Smoother(double weight = 0) : m_weight(weight) {}

    /// The mean up to `value`; what is not finite comes back as it is and counts for nothing.
    double next(double value)
    {
        constexpr double kNegligible = 1e-20; // 1 minus less is 1; multiplying on would end in
                                              // slow subnormal numbers
        if (!std::isfinite(value))
            return value;
        m_average = m_average * m_weight + (1 - m_weight) * value;
        m_remaining = m_remaining < kNegligible ? 0 : m_remaining * m_weight;
        return m_average / (1 - m_remaining);
    }

private:
    double m_weight;
    double m_average = 0, m_remaining = 1; // the latter is the weight to the power of the values
};

} // namespace vergence
