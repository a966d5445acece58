#pragma once

#include <cstdint>

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence {

// Arguments of the kernels behind core/compute/ops/loss.h; losses in the accumulator's type.

struct SoftmaxArguments {
    DType type = DType::F32;
    Index rows = 0, columns = 0;
    const void* x = nullptr;     ///< backward: y
    const void* gradY = nullptr; ///< backward
    void* out = nullptr;         ///< y, or gradX
    bool accumulate = false;
};

struct CrossEntropyArguments {
    DType type = DType::F32;
    Index rows = 0, columns = 0;
    const void* logits = nullptr;
    const std::int32_t* labels = nullptr;
    void* rowLoss = nullptr;
    std::int32_t* counted = nullptr;
    void* loss = nullptr;
    // backward
    const void* gradLoss = nullptr;
    void* gradLogits = nullptr;
    bool accumulate = false;
};

enum class Penalty : std::uint8_t { Square, SmoothAbsolute, SmoothL1 };

/// Mean over all numbers of a penalty of prediction − target.
struct RegressionArguments {
    Penalty penalty = Penalty::Square;
    DType type = DType::F32;
    Index count = 0;
    double width = 1; ///< c or beta
    const void* prediction = nullptr;
    const void* target = nullptr;
    void* loss = nullptr;
    // backward
    const void* gradLoss = nullptr;
    void* gradPrediction = nullptr;
    bool accumulate = false;
};

inline const Kernel<void(const SoftmaxArguments&)> softmaxKernel{"compute.softmax"};
inline const Kernel<void(const SoftmaxArguments&)> softmaxBackwardKernel{
    "compute.softmax_backward"};
inline const Kernel<void(const CrossEntropyArguments&)> crossEntropyKernel{"compute.cross_entropy"};
inline const Kernel<void(const CrossEntropyArguments&)> crossEntropyBackwardKernel{
    "compute.cross_entropy_backward"};
inline const Kernel<void(const RegressionArguments&)> regressionKernel{"compute.regression"};
inline const Kernel<void(const RegressionArguments&)> regressionBackwardKernel{
    "compute.regression_backward"};

} // namespace vergence
