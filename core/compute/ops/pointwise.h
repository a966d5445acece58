#pragma once

#include "core/compute/dense.h"
#include "core/compute/tensor.h"

namespace vergence {

// Element-wise operations. Conventions of all files in core/compute/ops:
// - Tensors are dense (ContractError otherwise) and may start anywhere: no 16-byte alignment is
//   assumed. Element types F32, F64, F16, BF16, equal among x, y and gradients unless said
//   otherwise; arithmetic in F32, in F64 for F64. Shapes that do not fit throw ContractError naming
//   both.
// - Results are overwritten. In backward functions `accumulate` adds to gradX instead. Gradients of
//   weights (gradScale, gradBias, …) are F32 (F64 for F64) and always added to.
// - `y` may be `x` itself where marked in place.
// - Sums have a fixed order: results repeat bit for bit on one device, whatever the thread count.

/// y = f(x). In place.
void activate(Stream& stream, Activation kind, const Tensor& x, const Tensor& y);
/// gradX = gradY · f'(x).
void activateBackward(Stream& stream, Activation kind, const Tensor& x, const Tensor& gradY,
                      const Tensor& gradX, bool accumulate);

/// y = silu(gate) ⊙ up. Source: GLU Variants Improve Transformer (2020), equation 5.
/// gate, up: [rows, F] windows with any row stride, so that both may lie in one product.
void swiglu(Stream& stream, const Tensor& gate, const Tensor& up, const Tensor& y);
void swigluBackward(Stream& stream, const Tensor& gate, const Tensor& up, const Tensor& gradY,
                    const Tensor& gradGate, const Tensor& gradUp);

/// y = alpha · a + beta · b. In place with a or b.
void addScaled(Stream& stream, double alpha, const Tensor& a, double beta, const Tensor& b,
               const Tensor& y);
/// y = alpha · x. In place.
void scale(Stream& stream, double alpha, const Tensor& x, const Tensor& y);
void multiply(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y); ///< a ⊙ b
void fill(Stream& stream, const Tensor& y, double value);
/// Between any two element types, rounding to nearest even.
void cast(Stream& stream, const Tensor& x, const Tensor& y);

/// y[.., c] = scale[c] · x[.., c] (+ residual). scale: [C].
void layerScale(Stream& stream, const Tensor& x, const Tensor& scale, const Tensor* residual,
                const Tensor& y);
void layerScaleBackward(Stream& stream, const Tensor& x, const Tensor& scale, const Tensor& gradY,
                        const Tensor& gradX, bool accumulate, const Tensor* gradScale);

/// Feature-wise modulation y[n, .., c] = gamma[n, c] · x[n, .., c] + beta[n, c]; channels
/// innermost. Source: FiLM: Visual Reasoning with a General Conditioning Layer (2018), equation 2.
void film(Stream& stream, const Tensor& x, const Tensor& gamma, const Tensor& beta,
          const Tensor& y);
/// gradGamma, gradBeta: [N, C], type of x, overwritten.
void filmBackward(Stream& stream, const Tensor& x, const Tensor& gamma, const Tensor& gradY,
                  const Tensor& gradX, bool accumulate, const Tensor& gradGamma,
                  const Tensor& gradBeta);

/// y = x + b broadcast over all but the innermost dimension. b: [C]. In place.
void addBias(Stream& stream, const Tensor& x, const Tensor& bias, const Tensor& y);
/// sums[c] += Σ over all rows of x[.., c]. sums: [C], F32 (F64 for F64).
void addColumnSums(Stream& stream, const Tensor& x, const Tensor& sums);

} // namespace vergence
