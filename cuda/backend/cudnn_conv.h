#pragma once

#include <memory>
#include <string>

#include "core/compute/dense/product_policy.h"
#include "core/compute/dense/unfolded_conv.h"

namespace vergence {

/// Convolutions by cuDNN 9's graphs, opened at run time. Each function returns false, having queued
/// nothing, where the library has no plan for the problem, or where the problem is first met while
/// a launch graph is recorded. A problem's plan is the fastest of the eight that cuDNN thinks of
/// first, timed once and kept for later processes (TuningFile), or the first that runs; plans that
/// add in no fixed order, and for F32 without TF32 those that round the operands, are not used.
/// Thread-safe.
class CudnnConvolutions {
public:
    /// Null, with a sentence, where cuDNN is missing. The device is current.
    static std::unique_ptr<CudnnConvolutions> open(const DeviceInfo& card, std::string& reason);
    virtual ~CudnnConvolutions() = default;

    /// Of the calls that follow, where no ProductPolicyScope says otherwise; untimed ones take the
    /// same plan in every process.
    virtual void setPolicy(const ProductPolicy& policy) = 0;

    virtual bool forward(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                         const Tensor& x, const Tensor& w, const Tensor& y,
                         const Conv2dOptions& options) = 0;
    virtual bool backwardData(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                              const Tensor& gradY, const Tensor& w, const Tensor& gradX) = 0;
    virtual bool backwardWeight(ProductBackend& backend, Stream& stream, const ConvProblem& problem,
                                const Tensor& x, const Tensor& gradY, const Tensor& gradW,
                                bool accumulate) = 0;
};

} // namespace vergence
