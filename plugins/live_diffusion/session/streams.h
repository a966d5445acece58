#pragma once

#include <vector>

#include "core/metrics/metric_decl.h"
#include "core/view/frame.h"

namespace vergence::live {

/// What the lab shows and records.
const std::vector<StreamDecl>& streamDecls();
const std::vector<MetricDecl>& metricDecls();

} // namespace vergence::live
