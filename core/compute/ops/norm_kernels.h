#pragma once

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence {

// Arguments of the kernels behind core/compute/ops/norm.h; statistics and sums in the accumulator's
// type.

struct RowNormArguments {
    DType type = DType::F32;
    bool isCentred = true; ///< LayerNorm; else RMSNorm
    Index rows = 0, columns = 0;
    const void* x = nullptr;
    const void* residual = nullptr;
    void* sum = nullptr;
    const void* weight = nullptr;
    const void* bias = nullptr;
    bool wideWeight = false, wideBias = false;
    double epsilon = 0;
    void* y = nullptr;
    void* mean = nullptr;
    void* rstd = nullptr;
    // backward
    const void* gradY = nullptr;
    void* gradX = nullptr;
    bool accumulate = false;
    void* gradWeight = nullptr;
    void* gradBias = nullptr;
};

struct GroupNormArguments {
    DType type = DType::F32;
    Index samples = 0, pixels = 0, channels = 0, groups = 1;
    bool channelsLast = true;
    bool silu = false;
    const void* x = nullptr;
    const void* weight = nullptr;
    const void* bias = nullptr;
    bool wideWeight = false, wideBias = false;
    double epsilon = 0;
    void* y = nullptr;
    void* mean = nullptr;
    void* rstd = nullptr;
    // backward
    const void* gradY = nullptr;
    void* gradX = nullptr;
    bool accumulate = false;
    void* gradWeight = nullptr;
    void* gradBias = nullptr;
};

inline const Kernel<void(const RowNormArguments&)> rowNormKernel{"compute.row_norm"};
inline const Kernel<void(const RowNormArguments&)> rowNormBackwardKernel{
    "compute.row_norm_backward"};
inline const Kernel<void(const GroupNormArguments&)> groupNormKernel{"compute.group_norm"};
inline const Kernel<void(const GroupNormArguments&)> groupNormBackwardKernel{
    "compute.group_norm_backward"};

} // namespace vergence
