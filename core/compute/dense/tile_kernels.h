#pragma once

#include "core/compute/dense/problem.h"
#include "core/compute/kernel.h"

namespace vergence {

/// What follows a product, for one tile: y = activation(alpha · product + bias) + residual +
/// beta · y. Strides in elements. y, residual and preActivation have `type`; the product is F32
/// (F64 where `type` is), or of `type` too where `productIsRounded`.
struct TileFinish {
    const void* product = nullptr; ///< [rows, columns]; null: zeros. May be y or preActivation.
    Index productStride = 0;
    bool productIsRounded = false;
    Index rows = 0, columns = 0;
    DType type = DType::F32;
    void* y = nullptr;
    Index yStride = 0;
    const void* residual = nullptr; ///< may be y unless the product is
    Index residualStride = 0;
    void* preActivation = nullptr;
    Index preActivationStride = 0;
    const void* bias = nullptr; ///< [columns], or [rows] where biasPerRow
    DType biasType = DType::F32;
    bool biasPerRow = false;
    Activation activation = Activation::None;
    double alpha = 1, beta = 0;
};

/// Rows of numbers that are copied as F32; transposed, from [rows, columns] to [columns, rows].
struct TileCopy {
    const void* source = nullptr;
    Index sourceStride = 0;
    DType type = DType::F32;
    Index rows = 0, columns = 0;
    float* target = nullptr;
    Index targetStride = 0;
    bool transpose = false;
};

/// target[i] = Σ_p partials[p · stride + i] (+ target[i]) for i < count, in the order of p.
struct PartialSum {
    const float* partials = nullptr;
    Index parts = 0, stride = 0, count = 0;
    void* target = nullptr;
    DType type = DType::F32;
    bool accumulate = false;
};

/// product = a · bᵀ for at most kFewRows rows of a: one pass over b, which is what it costs.
struct RowProduct {
    const void* a = nullptr; ///< [m, k]
    Index aStride = 0;
    const void* b = nullptr; ///< [n, k]
    Index bStride = 0;
    DType type = DType::F32; ///< of both; not F64
    Index m = 0, n = 0, k = 0;
    float* product = nullptr; ///< [m, n]
    Index productStride = 0;
};
inline constexpr Index kFewRows = 4;

// On the CPU these run on the calling thread alone: they are called from inside a parallel loop,
// tile by tile. All but the first exist only there.
inline const Kernel<void(const TileFinish&)> finishTile{"dense.finishTile"};
inline const Kernel<void(const TileCopy&)> copyTile{"dense.copyTile"};
inline const Kernel<void(const PartialSum&)> sumPartials{"dense.sumPartials"};
inline const Kernel<void(const RowProduct&)> rowProduct{"dense.rowProduct"};

} // namespace vergence
