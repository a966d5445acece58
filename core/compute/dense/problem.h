#pragma once

#include <array>

#include "core/compute/dense.h"

namespace vergence {

// One product or convolution after all checks, as the devices' implementations see it.

/// A batch of row-major matrices with contiguous rows. Strides in elements.
struct MatrixBatch {
    void* data = nullptr; ///< null where absent
    Index rowStride = 0;
    std::array<Index, 4> batchStrides{}; ///< 0 where one matrix serves all batches

    explicit operator bool() const { return data != nullptr; }
};

/// y = activation(alpha · op(a) · op(b) + bias) + residual + beta · y for each of `batches`.
struct MatmulProblem {
    Index m = 0, n = 0, k = 0;
    int batchRank = 0;
    std::array<Index, 4> batch{}; ///< extents, outermost first
    Index batches = 1;
    DType type = DType::F32;    ///< of a and b
    DType outType = DType::F32; ///< of y, residual and preActivation
    MatrixBatch a, b, y, residual, preActivation;
    bool transposeA = false, transposeB = false;
    double alpha = 1, beta = 0;
    const void* bias = nullptr;
    DType biasType = DType::F32;
    bool biasPerRow = false; ///< bias is [M] instead of [N]
    Activation activation = Activation::None;
    const PackedWeight* packedB = nullptr;

    bool residualIsY() const { return residual && residual.data == y.data; }
    bool addsY() const { return beta != 0 || residualIsY(); } ///< y is read, too
    double flops() const;
    /// Elements from the first matrix to that of batch `index`.
    Index offsetOf(const MatrixBatch& matrix, Index index) const;
};

/// Checks everything that DenseMath::matmul promises, and joins batches where memory allows: many
/// rows against one matrix are one product. Throws ContractError.
MatmulProblem describeMatmul(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y,
                             const MatmulOptions& options);
/// Joins neighbouring batches into rows or into one batch where strides allow.
void joinBatches(MatmulProblem& problem);

/// Extents of a convolution; all tensors dense.
struct ConvProblem {
    Index images = 0, channels = 0, height = 0, width = 0;
    Index outChannels = 0, kernelHeight = 0, kernelWidth = 0;
    Index outHeight = 0, outWidth = 0;
    Index stride = 1, padding = 0;
    ImageLayout layout = ImageLayout::Nhwc;
    DType type = DType::F32;

    Index pixels() const { return height * width; }
    Index outPixels() const { return outHeight * outWidth; }
    Index taps() const { return kernelHeight * kernelWidth; }
    Index weights() const { return outChannels * taps() * channels; }
    double flops() const;
    /// A plain product over pixels.
    bool isPointwise() const { return taps() == 1 && stride == 1 && padding == 0; }
};

/// Checks of the three functions; `what` names the function in messages.
ConvProblem describeConv(Stream& stream, const char* what, const Tensor& x, const Tensor& w,
                         const Tensor& y, const Conv2dOptions& options);
void checkConvExtras(const ConvProblem& problem, const Tensor& y, const Conv2dOptions& options);
void checkBackwardWeight(const ConvProblem& problem, const Tensor& x, const Tensor& gradY,
                         const Tensor& gradW, const Tensor* gradBias);

/// Throws ContractError unless `result` has the operands' type, or F32 for operands of 16 bits.
void expectResultType(const char* what, const char* name, DType operands, DType result);

} // namespace vergence
