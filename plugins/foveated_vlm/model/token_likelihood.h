#pragma once

#include "core/compute/graph/graph.h"

namespace vergence::fvlm {

/// Negative log-likelihood of every label on its own: hidden [n, H], weight [V, H], labels [n] I32
/// (negative: not counted, 0) → [n] F32 (F64). Logits exist for `chunkRows` rows at a time and are
/// made again for the derivative.
Value tokenLikelihood(Graph& graph, Value hidden, Value weight, const Tensor& labels,
                      Index chunkRows = 1024);

} // namespace vergence::fvlm
