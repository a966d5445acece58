#pragma once

#include "core/compute/graph/graph.h"

namespace vergence::live {

inline constexpr double kConsistencyCorner = 1e-3;

/// Mean over rows of √(mean d² + c²) − c, d = f − target ([rows, ..]), c = kConsistencyCorner: the
/// pseudo-Huber distance √(‖d‖² + C²) − C of whole pictures of D numbers with C = c √D, over √D.
/// Source: Improved Techniques for Training Consistency Models (2024), section 3.3.
Value consistencyLoss(Graph& graph, Value f, Value target);

} // namespace vergence::live
