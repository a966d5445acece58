#pragma once

#include <array>
#include <vector>

#include "tests/support/cuda_emulation/convolutions/tensors.h"

namespace vergence::emulation::convolutions {

/// CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR; vectors have an element for each spatial dimension.
struct Convolution : Meaning {
    cudnnDataType_t sumType = CUDNN_DATA_FLOAT;
    bool isFlipped = false; ///< CUDNN_CONVOLUTION rather than a cross-correlation
    std::vector<std::int64_t> before, after, dilations, strides; ///< the first two are padding
};

/// CUDNN_BACKEND_POINTWISE_DESCRIPTOR.
struct Pointwise : Meaning {
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    double swishBeta = 1, lowerClip = 0, upperClip = 0, slope = 0;
    bool hasUpperClip = false;

    bool takesTwo() const;
};

/// A node of a graph.
struct Operation : Meaning {
    virtual std::vector<TensorPointer> inputs() const = 0;
    virtual TensorPointer output() const = 0;
};
using OperationPointer = std::shared_ptr<const Operation>;

enum class Pass { Forward, BackwardData, BackwardFilter };

/// y = alpha conv(x, w) + beta y, or the same for one of the derivatives.
struct ConvolutionOperation : Operation {
    Pass pass = Pass::Forward;
    TensorPointer x, w, y;
    std::shared_ptr<const Convolution> convolution;
    double alpha = 1, beta = 0;

    std::vector<TensorPointer> inputs() const override;
    TensorPointer output() const override;
    std::int64_t groups() const { return x->extents[1] / w->extents[1]; }
};

/// y = mode(alpha1 x, alpha2 b); dimensions of one element are repeated.
struct PointwiseOperation : Operation {
    std::shared_ptr<const Pointwise> pointwise;
    TensorPointer x, b, y; ///< b may be null
    double alpha1 = 1, alpha2 = 1;

    std::vector<TensorPointer> inputs() const override;
    TensorPointer output() const override { return y; }
};

extern const Kind kConvolutionKind, kPointwiseKind, kForwardKind, kBackwardDataKind,
    kBackwardFilterKind, kPointwiseOperationKind;

} // namespace vergence::emulation::convolutions
