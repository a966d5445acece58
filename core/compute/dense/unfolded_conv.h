#pragma once

#include <memory>

#include "core/compute/dense/problem.h"

namespace vergence {

/// What a device offers to a convolution that is written as a product.
class ProductBackend {
public:
    virtual ~ProductBackend() = default;
    virtual void product(Stream& stream, const MatmulProblem& problem) = 0;
    /// Memory for work queued on `stream` until the result is released.
    virtual std::shared_ptr<void> workspace(Stream& stream, std::size_t bytes) = 0;
};

// Convolutions as products with unfolded images, one image after another; a 1×1 convolution is a
// product with the image itself. Reference for, and fallback of, the libraries' convolutions.

void unfoldedConv(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                  const Tensor& x, const Tensor& w, const Tensor& y, const Conv2dOptions& options);
void unfoldedConvBackwardData(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                              const Tensor& gradY, const Tensor& w, const Tensor& gradX);
void unfoldedConvBackwardWeight(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                                const Tensor& x, const Tensor& gradY, const Tensor& gradW,
                                bool accumulate);

/// gradBias (+)= sums of gradY per channel.
void convBackwardBias(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                      const Tensor& gradY, const Tensor& gradBias, bool accumulate);

} // namespace vergence
