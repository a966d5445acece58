#pragma once

#include "core/compute/graph/functions.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence::live {

// Kinds of operations of a program on the tape, those that are no single function of the engine.
// Values are [B, H, W, C].

/// x [B, H, W, C] + e [B, 1, 1, C]
Value addChannels(Graph& graph, Value x, Value e);
/// Zeros follow up to `channels`.
Value concatChannels(Graph& graph, std::vector<Value> parts, Index channels);
/// qkv [B, H, W, 3C]; window 0: all tokens.
Value selfAttention(Graph& graph, Value qkv, int heads, Index window);
/// q [B, H, W, C], keysAndValues [B or 1, keys, 1, 2C], bias [B or 1, keys, 1, 1] constant.
Value crossAttention(Graph& graph, Value q, Value keysAndValues, Value bias, int heads);
Value gatedGelu(Graph& graph, Value x);
/// To height × width.
Value adaptiveMeanPool(Graph& graph, Value x, Index height, Index width);
/// √(x + c²) − c for x ≥ 0, c > 0: of a square, a smooth absolute value.
Value smoothRoot(Graph& graph, Value x, double c);
/// numbers [B, 1, 1, 1] F32 or F64 → [B, 1, 1, channels] of `type`, without gradient.
Value sinusoid(Graph& graph, Value numbers, Index channels, double scale, DType type);
/// numbers [B, 1, 1, 1] → [B, height, width, 1] of `type`, without gradient.
Value plane(Graph& graph, Value numbers, Index height, Index width, double scale, DType type);

// Of the replicas: backward() through them throws ContractError.

/// weight [Cin, kernel, kernel, Cout]
Value transposedConvolution(Graph& graph, Value x, Value weight, Value bias, int stride,
                            int padding);
struct KeptStatistics {
    Value weight, bias, mean, variance;
    double epsilon = 1e-5;
};
Value batchNorm(Graph& graph, Value x, const KeptStatistics& kept);
Value maxPool2(Graph& graph, Value x);
Value upsampleBilinear2(Graph& graph, Value x);
Value tanh(Graph& graph, Value x);

} // namespace vergence::live
