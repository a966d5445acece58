#pragma once

#include <optional>
#include <vector>

#include "core/compute/dense.h"
#include "core/compute/graph/graph.h"
#include "core/compute/ops/attention.h"

namespace vergence {

// Operations on the tape: forward now, derivative recorded. Shapes and formulas as in
// core/compute/dense.h and core/compute/ops; strided values are made dense first where an operation
// wants it.

/// x [.., K], weight [N, K], bias [N] or none → activation(x Wᵀ + b) + residual, [.., N]. A weight
/// of more dimensions ([N, C, k, k] of a patch projection) is read as [N, C·k·k].
struct LinearOptions {
    Value bias;
    Value residual;
    Activation activation = Activation::None;
    const PackedWeight* packed = nullptr; ///< inference only
};
Value linear(Graph& graph, Value x, Value weight, const LinearOptions& options = {});
/// a [.., M, K], b [.., K, N] (or transposed as said) → [.., M, N]
Value matmul(Graph& graph, Value a, Value b, bool transposeA = false, bool transposeB = false,
             double alpha = 1);

struct ConvOptions {
    Value bias;
    Value residual;
    Activation activation = Activation::None;
    ImageLayout layout = ImageLayout::Nhwc;
    int stride = 1;
    int padding = 0;
};
Value conv2d(Graph& graph, Value x, Value weight, const ConvOptions& options = {});

Value add(Graph& graph, Value a, Value b);
Value addScaled(Graph& graph, double alpha, Value a, double beta, Value b);
Value scale(Graph& graph, double alpha, Value x);
Value multiply(Graph& graph, Value a, Value b);
Value activate(Graph& graph, Activation kind, Value x);
/// gateAndUp: [.., 2F], gate first → [.., F]
Value swiglu(Graph& graph, Value gateAndUp);
Value layerScale(Graph& graph, Value x, Value scale, Value residual = {});
Value film(Graph& graph, Value x, Value gamma, Value beta);
Value dropout(Graph& graph, Value x, double p);
/// x [B, ..row] + y [..row], y broadcast over the outermost dimension (position embedding).
Value addBroadcast(Graph& graph, Value x, Value y);
Value cast(Graph& graph, Value x, DType type);

Value layerNorm(Graph& graph, Value x, Value weight, Value bias, double epsilon);
Value rmsNorm(Graph& graph, Value x, Value weight, double epsilon);
Value groupNorm(Graph& graph, Value x, Value weight, Value bias, int groups, double epsilon,
                bool silu, bool channelsLast = true);
Value softmax(Graph& graph, Value x);

/// q [B, Sq, H, d], k, v [B, Sk, Hkv, d] → [B, Sq, H, d]
Value attention(Graph& graph, Value q, Value k, Value v, const AttentionArgs& args = {});
/// One projection holds all three: qkv [B, S, (H + 2 Hkv)·d], heads of q, then k, then v →
/// [B, S, H·d]. Reads and writes windows, copies nothing; `rotary` turns q and k on the way.
Value attentionPacked(Graph& graph, Value qkv, int heads, int keyHeads,
                      const AttentionArgs& args = {}, const std::optional<RopeArgs>& rotary = {});
Value rope(Graph& graph, Value x, const RopeArgs& args);

Value reshape(Graph& graph, Value x, Shape shape);
Value permute(Graph& graph, Value x, const std::vector<int>& order);
Value narrow(Graph& graph, Value x, int dimension, Index first, Index count);
Value concat(Graph& graph, const std::vector<Value>& parts, int dimension);
/// table [V, ..row], ids [n] I32
Value gatherRows(Graph& graph, Value table, const Tensor& ids);
/// x [..row] → [count, ..row]
Value broadcastLeading(Graph& graph, Value x, Index count);

/// image [N, C, H, W] → [N, patches, C·p·p]; no gradient to the image where it needs none
Value unfoldPatches(Graph& graph, Value image, int patch);
/// grid [from·from, D] → [rows·columns, D] by two separable maps R [to, from] (constants in the
/// type of the grid).
Value resamplePositions(Graph& graph, Value grid, Index from, const Tensor& rowMap,
                        const Tensor& columnMap);
Value upsampleNearest2(Graph& graph, Value x, bool channelsLast = true);
Value pixelShuffle(Graph& graph, Value x, int factor, bool channelsLast = true);
Value pixelUnshuffle(Graph& graph, Value x, int factor, bool channelsLast = true);

// Losses: [1], F32 (F64). Prediction and target both take gradients where they want them.
Value crossEntropy(Graph& graph, Value logits, const Tensor& labels);
/// Makes its gradients with the logits, in forward, where the tape records.
Value linearCrossEntropy(Graph& graph, Value hidden, Value weight, const Tensor& labels,
                         Index chunkRows = 1024);
Value meanSquaredError(Graph& graph, Value prediction, Value target);
Value smoothL1(Graph& graph, Value prediction, Value target, double beta);
Value smoothAbsoluteError(Graph& graph, Value prediction, Value target, double c);
/// Σ x ⊙ w with constant w: a probe for tests and weighted sums of losses.
Value weightedSum(Graph& graph, Value x, const Tensor& weights);

} // namespace vergence
