#pragma once

#include "core/metrics/statistics.h"

namespace vergence::mc_embedding {

/// P(F ≤ x) with d1 and d2 degrees of freedom, P(F > x) without cancellation, and the x with
/// P(F ≤ x) = probability.
double fCumulative(double x, double d1, double d2);
double fSurvival(double x, double d1, double d2);
double fQuantile(double probability, double d1, double d2);
using vergence::normalCumulative;

} // namespace vergence::mc_embedding
