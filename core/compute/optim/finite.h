#pragma once

#include <string_view>

#include "core/compute/view.h"

namespace vergence {

/// Stops a run whose numbers left the reals: throws NumericsError that names step and series where
/// `value` (a loss, a gradient norm) is not finite. For the loop of a trainer, on values it brought
/// to the host anyway.
void expectFinite(double value, Index step, std::string_view series);

/// Three skipped updates in a row end a run (NumericsError): feed it Adam::skippedSteps() whenever
/// it was read.
class SkipWatch {
public:
    explicit SkipWatch(Index limit = 3) : m_limit(limit) {}
    /// `steps` and `skipped` as counted so far.
    void check(Index steps, Index skipped, Index step);

private:
    Index m_limit;
    Index m_lastSteps = 0, m_lastSkipped = 0, m_inRow = 0;
};

} // namespace vergence
