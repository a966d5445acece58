#pragma once

#include <vector>

#include "core/metrics/metric_decl.h"

namespace vergence {

class ChartCard;

/// The cards as they follow one another: pinned ones, the first declared series, headline metrics,
/// the other declared series in the order of `declarations`, undeclared series by name, tables, and
/// the computer's own series ("system/…").
std::vector<ChartCard*> inOrder(std::vector<ChartCard*> cards,
                                const std::vector<MetricDecl>& declarations);

} // namespace vergence
