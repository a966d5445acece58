#include "core/compute/optim/finite.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

void expectFinite(double value, Index step, std::string_view series)
{
    if (!std::isfinite(value))
        throw NumericsError(
            fmt::format("Step {}: {} is {}. Lower the learning rate, or look at the "
                        "data of this step.",
                        step, series, value));
}

void SkipWatch::check(Index steps, Index skipped, Index step)
{
    m_inRow = steps > m_lastSteps ? 0 : m_inRow + (skipped - m_lastSkipped);
    m_lastSteps = steps;
    m_lastSkipped = skipped;
    if (m_inRow >= m_limit)
        throw NumericsError(
            fmt::format("Step {}: the gradient norm was not finite {} times in a row. Lower the "
                        "learning rate, or look at the data of these steps.",
                        step, m_inRow));
}

} // namespace vergence
