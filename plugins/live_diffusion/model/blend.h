#pragma once

#include <span>

#include "core/compute/graph/graph.h"

namespace vergence::live {

/// w′ = 1 − β (1 − max(σ(logit), 1/4)): the share of the new frame in what is shown. β in [0, 1].
inline constexpr double kLeastBlend = 0.25;
double blendWeight(double logit, double beta);

/// y = clamp(w′ · x̂₀ + (1 − w′) · y_{k−1}, −1, 1) with one logit per pixel of the grid. x0, y: rows
/// · channels · pixels (channels first); logits: rows · pixels. `previous` empty: first frame or
/// after a reset, w′ = 1. y may be x0.
struct BlendExtents {
    Index rows = 1, channels = 12, pixels = 1024;
};
void temporalBlend(std::span<const float> x0, std::span<const float> previous,
                   std::span<const float> logits, double beta, const BlendExtents& extents,
                   std::span<float> y);

/// The same on the tape without the clamp: x0, previous [B, g, g, C], logits [B, g, g, 1] →
/// [B, g, g, C]; gradients to x0 and the logits (0 where max holds them), none to previous.
Value temporalBlend(Graph& graph, Value x0, const Tensor& previous, Value logits, double beta);

} // namespace vergence::live
