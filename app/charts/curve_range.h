#pragma once

#include <vector>

#include "app/charts/curve_source.h"

namespace vergence {

/// Range with room on both sides for a value or for points that are all equal.
Range widened(Range range);
/// The Y range that holds these points within `x`, with a margin; positive where it is logarithmic.
Range fittingY(const std::vector<CurvePoints>& curves, Range x, const ChartSettings& settings);
/// Takes out what a logarithmic axis cannot show; true where there was such a point.
bool removeNotPositive(CurvePoints& points);
/// `range` scaled by `factor` around `centre`.
Range scaledAround(Range range, double centre, double factor);

} // namespace vergence
