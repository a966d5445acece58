#pragma once

#include "core/compute/dense.h"
#include "core/compute/tensor.h"

namespace vergence {

// Conventions: core/compute/ops/pointwise.h. A loss is one number on the device, F32 (F64 for F64);
// `gradLoss` too. Nothing waits for the host.

/// Softmax over the innermost dimension. In place.
void softmax(Stream& stream, const Tensor& x, const Tensor& y);
void softmaxBackward(Stream& stream, const Tensor& y, const Tensor& gradY, const Tensor& gradX,
                     bool accumulate);

/// loss = Σ over counted rows (log Σ exp z − z_label) / counted. logits: [rows, V]; labels: [rows]
/// I32, negative labels are ignored; none counted gives 0. rowLoss: [rows] (0 where ignored), kept.
/// counted: [1] I32, written. A label ≥ V gives NaN.
void crossEntropy(Stream& stream, const Tensor& logits, const Tensor& labels, const Tensor& rowLoss,
                  const Tensor& counted, const Tensor& loss);
void crossEntropyBackward(Stream& stream, const Tensor& logits, const Tensor& labels,
                          const Tensor& counted, const Tensor& gradLoss, const Tensor& gradLogits,
                          bool accumulate);

/// Cross-entropy of hidden · weightᵀ without ever holding all logits: chunks of `chunkRows` rows.
/// hidden: [rows, H]; weight: [V, H]. gradHidden (overwritten) and gradWeight (added to) are those
/// of the loss times gradLoss and are made in the same sweep; null where not wanted. `logits` is
/// scratch of [chunkRows, V] in the type of hidden.
struct LinearCrossEntropyArgs {
    const Tensor* gradLoss = nullptr; ///< [1]; null means 1
    const Tensor* gradHidden = nullptr;
    const Tensor* gradWeight = nullptr;
};
void linearCrossEntropy(Stream& stream, const Tensor& hidden, const Tensor& weight,
                        const Tensor& labels, const Tensor& rowLoss, const Tensor& counted,
                        const Tensor& loss, const Tensor& logits,
                        const LinearCrossEntropyArgs& args = {});

/// loss = mean (prediction − target)².
void meanSquaredError(Stream& stream, const Tensor& prediction, const Tensor& target,
                      const Tensor& loss);
void meanSquaredErrorBackward(Stream& stream, const Tensor& prediction, const Tensor& target,
                              const Tensor& gradLoss, const Tensor& gradPrediction,
                              bool accumulate);

/// loss = mean of (√(d² + c²) − c), d = prediction − target, c > 0.
void smoothAbsoluteError(Stream& stream, const Tensor& prediction, const Tensor& target, double c,
                         const Tensor& loss);
void smoothAbsoluteErrorBackward(Stream& stream, const Tensor& prediction, const Tensor& target,
                                 double c, const Tensor& gradLoss, const Tensor& gradPrediction,
                                 bool accumulate);

/// loss = mean of ½ d²/beta where |d| < beta, |d| − ½ beta elsewhere. Source: Fast R-CNN (2015),
/// eq. 3.
void smoothL1(Stream& stream, const Tensor& prediction, const Tensor& target, double beta,
              const Tensor& loss);
void smoothL1Backward(Stream& stream, const Tensor& prediction, const Tensor& target, double beta,
                      const Tensor& gradLoss, const Tensor& gradPrediction, bool accumulate);

} // namespace vergence
