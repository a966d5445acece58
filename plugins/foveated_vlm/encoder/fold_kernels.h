#pragma once

#include "core/compute/kernel.h"
#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// Folding of a scale λ [out] into the linear layer W [out, in], b [out] before it. The master's
/// numbers are F32, or F64 with a folded type of F64.
struct FoldArguments {
    DType type = DType::F32; ///< of the folded layer
    Index rows = 0, columns = 0;
    const void* scale = nullptr;
    const void* weight = nullptr;
    const void* bias = nullptr;
    void* foldedWeight = nullptr; ///< λ_i W_ij
    void* foldedBias = nullptr;   ///< λ_i b_i
};
inline const Kernel<void(const FoldArguments&)> foldLinear{"fvlm.fold_linear"};

/// Gradients of the folded layer mapped back and added; each target may be null. All F32 (F64).
struct UnfoldArguments {
    DType type = DType::F32;
    Index rows = 0, columns = 0;
    const void* scale = nullptr;
    const void* weight = nullptr;
    const void* bias = nullptr;
    const void* gradFoldedWeight = nullptr;
    const void* gradFoldedBias = nullptr;
    void* gradScale = nullptr;  ///< += Σ_j dW'_ij W_ij + db'_i b_i
    void* gradWeight = nullptr; ///< += λ_i dW'_ij
    void* gradBias = nullptr;   ///< += λ_i db'_i
};
inline const Kernel<void(const UnfoldArguments&)> unfoldGradients{"fvlm.unfold_gradients"};

} // namespace vergence::fvlm
