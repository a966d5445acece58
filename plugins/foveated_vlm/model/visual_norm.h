#pragma once

#include "core/compute/graph/graph.h"

namespace vergence::fvlm {

/// y = factor · x / √(variance of all numbers of x + epsilon), population variance.
Value scaleByDeviation(Graph& graph, Value x, double factor, double epsilon);

/// Cosines of the rows of a and b: [n, D] each → [n] F32 (F64). Rows of zeros give 0.
Value rowCosines(Graph& graph, Value a, Value b);

} // namespace vergence::fvlm
