#pragma once

#include "core/compute/tensor.h"

namespace vergence {

// Conventions: core/compute/ops/pointwise.h. Statistics are F32 (F64 for F64), computed in two
// passes over the row (mean, then variance).

/// y = (x − mean) · rstd · weight + bias over the innermost dimension; rstd = 1/√(variance +
/// epsilon). x, y: [.., C]; weight, bias: [C] in the type of x or F32, either may be null (1 and
/// 0). mean, rstd: [rows], kept for the derivative; null where none is wanted. Source: Layer
/// Normalization (2016), equation 4.
struct LayerNormArgs {
    const Tensor* weight = nullptr;
    const Tensor* bias = nullptr;
    double epsilon = 1e-5;
    const Tensor* mean = nullptr;
    const Tensor* rstd = nullptr;
    /// sum = x + residual is normalised instead of x, and written here: fuses a residual addition.
    const Tensor* residual = nullptr;
    const Tensor* sum = nullptr;
};
void layerNorm(Stream& stream, const Tensor& x, const Tensor& y, const LayerNormArgs& args);
/// x is what was normalised (`sum` where there was a residual). gradWeight, gradBias may be null.
void layerNormBackward(Stream& stream, const Tensor& x, const Tensor* weight, const Tensor& mean,
                       const Tensor& rstd, const Tensor& gradY, const Tensor& gradX,
                       bool accumulate, const Tensor* gradWeight, const Tensor* gradBias);

/// y = weight · x · rstd; rstd = (mean(x²) + epsilon)^−½. `weight` may be null.
/// Source: Root Mean Square Layer Normalization (2019), equation 4.
struct RmsNormArgs {
    const Tensor* weight = nullptr;
    double epsilon = 1e-5;
    const Tensor* rstd = nullptr;
    const Tensor* residual = nullptr;
    const Tensor* sum = nullptr;
};
void rmsNorm(Stream& stream, const Tensor& x, const Tensor& y, const RmsNormArgs& args);
void rmsNormBackward(Stream& stream, const Tensor& x, const Tensor* weight, const Tensor& rstd,
                     const Tensor& gradY, const Tensor& gradX, bool accumulate,
                     const Tensor* gradWeight);

/// Per sample and group of channels, population variance; optionally followed by SiLU.
/// x, y: [N, H, W, C] or [N, C, H, W]; weight, bias: [C]; mean, rstd: [N, groups].
/// Source: Group Normalization (2018), equation 7.
struct GroupNormArgs {
    const Tensor* weight = nullptr;
    const Tensor* bias = nullptr;
    int groups = 32; ///< divides C
    double epsilon = 1e-5;
    bool silu = false;
    bool channelsLast = true;
    const Tensor* mean = nullptr;
    const Tensor* rstd = nullptr;
};
void groupNorm(Stream& stream, const Tensor& x, const Tensor& y, const GroupNormArgs& args);
/// args.mean and args.rstd as the forward wrote them. gradX may be x or gradY.
void groupNormBackward(Stream& stream, const Tensor& x, const Tensor& gradY, const Tensor& gradX,
                       bool accumulate, const Tensor* gradWeight, const Tensor* gradBias,
                       const GroupNormArgs& args);

} // namespace vergence
