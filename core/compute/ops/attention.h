#pragma once

#include "core/compute/tensor.h"

namespace vergence {

/// O = softmax(scale · Q Kᵀ + mask + bias) V per head; the scores never exist in full.
/// q, o: [B, Sq, H, d]; k, v: [B, Sk, Hkv, d]; H is a multiple of Hkv and query head h reads key
/// head h / (H / Hkv). Any strides with d contiguous, so that q, k, v may be windows of one
/// projection. d from 4 to 128; F32, F64, F16, BF16, sums in F32 (F64 for F64). logSumExp: [B, H,
/// Sq] F32 (F64), natural logarithm; null where no derivative is wanted. A query that sees no key
/// gives 0, logSumExp −∞, and takes no gradient. Sources: Attention Is All You Need (2017),
/// equation 1; FlashAttention-2 (2023), algorithms 1, 2.
struct AttentionArgs {
    double scale = 0;                  ///< 0 takes 1/√d
    bool causal = false;               ///< query i sees keys 0 … i + cacheOffset
    Index cacheOffset = 0;             ///< keys that lie before query 0 (a key/value cache)
    const Tensor* keyCounts = nullptr; ///< [B] I32: keys from there on are padding
    /// [S + 1] I32 ascending from 0: block-diagonal attention among packed sequences (B = 1); then
    /// queries and keys share the borders and `causal` counts within a block
    const Tensor* segmentStarts = nullptr;
    /// [B or 1, H or 1, Sq or 1, Sk] added to the scores, type F32 (F64); takes no gradient
    const Tensor* bias = nullptr;
};
void attention(Stream& stream, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
               const Tensor* logSumExp, const AttentionArgs& args = {});

/// gradQ, gradK, gradV: shapes of q, k, v (any strides), overwritten; sums over the queries of a
/// group in fixed order. `delta` is scratch of [B, H, Sq], F32 (F64): Σ gradO ⊙ o.
void attentionBackward(Stream& stream, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& o, const Tensor& logSumExp, const Tensor& gradO,
                       const Tensor& gradQ, const Tensor& gradK, const Tensor& gradV,
                       const Tensor& delta, const AttentionArgs& args = {});

/// Rotary position embedding, half-split pairs (j, j + d/2), angle position · theta^(−2j/d).
/// x, y: [B, S, H, d], d even, any strides with d contiguous; y may be x.
/// positions: [S] or [B, S] I32; null counts 0, 1, … + first. direction −1 gives the derivative.
/// Source: RoFormer (2021), equation 34.
struct RopeArgs {
    double theta = 10000;
    const Tensor* positions = nullptr;
    Index first = 0;
    int direction = 1;
};
void rope(Stream& stream, const Tensor& x, const Tensor& y, const RopeArgs& args = {});

} // namespace vergence
