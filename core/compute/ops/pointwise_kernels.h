#pragma once

#include "core/compute/dense.h"
#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence {

// Arguments of the kernels behind core/compute/ops/pointwise.h, checked by the public functions.

struct ActivateArguments {
    Activation kind = Activation::None;
    DType type = DType::F32;
    Index count = 0;
    const void* x = nullptr;
    const void* gradY = nullptr; ///< backward
    void* out = nullptr;         ///< y, or gradX
    bool accumulate = false;     ///< backward
};

/// Rows of `columns` numbers at given distances in numbers.
struct SwigluArguments {
    DType type = DType::F32;
    Index rows = 0, columns = 0;
    const void* gate = nullptr;
    const void* up = nullptr;
    const void* gradY = nullptr; ///< backward; dense
    void* y = nullptr;           ///< forward; dense
    void* gradGate = nullptr;
    void* gradUp = nullptr;
    Index gatePitch = 0, upPitch = 0, gradGatePitch = 0, gradUpPitch = 0;
};

/// y = alpha a + beta b (sum), alpha a (without b), a ⊙ b (product), or alpha (without a).
struct CombineArguments {
    DType type = DType::F32;
    Index count = 0;
    double alpha = 1, beta = 1;
    bool product = false;
    const void* a = nullptr;
    const void* b = nullptr;
    void* y = nullptr;
};

struct CastArguments {
    DType from = DType::F32, to = DType::F32;
    Index count = 0;
    const void* x = nullptr;
    void* y = nullptr;
};

/// y[n, i, c] = factor[n, c] · x[n, i, c] + shift[n, c] + residual[n, i, c], i < rowsPerGroup; each
/// may be absent. Without `grouped` one factor and shift serve all rows.
struct AffineArguments {
    DType type = DType::F32;
    Index rows = 0, columns = 0, rowsPerGroup = 1;
    bool grouped = false;
    const void* x = nullptr;
    const void* factor = nullptr;
    const void* shift = nullptr;
    const void* residual = nullptr;
    bool wideFactor = false, wideShift = false; ///< in the accumulator's type
    void* y = nullptr;
};

/// plain[n, c] = Σ_i g[n, i, c], products[n, c] = Σ_i g[n, i, c] · x[n, i, c]; either may be
/// absent. Results have the accumulator's type and are added to, or the type of x and are
/// overwritten.
struct ColumnSumArguments {
    DType type = DType::F32;
    Index groups = 1, rowsPerGroup = 0, columns = 0;
    const void* g = nullptr;
    const void* x = nullptr;
    void* plain = nullptr;
    void* products = nullptr;
    bool overwrite = false;
};

inline const Kernel<void(const ActivateArguments&)> activateKernel{"compute.activate"};
inline const Kernel<void(const ActivateArguments&)> activateBackwardKernel{
    "compute.activate_backward"};
inline const Kernel<void(const SwigluArguments&)> swigluKernel{"compute.swiglu"};
inline const Kernel<void(const SwigluArguments&)> swigluBackwardKernel{"compute.swiglu_backward"};
inline const Kernel<void(const CombineArguments&)> combineKernel{"compute.combine"};
inline const Kernel<void(const CastArguments&)> castKernel{"compute.cast"};
inline const Kernel<void(const AffineArguments&)> affineKernel{"compute.affine"};
inline const Kernel<void(const ColumnSumArguments&)> columnSumKernel{"compute.column_sums"};

} // namespace vergence
