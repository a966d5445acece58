#pragma once

#include <cstdint>

#include "core/compute/dtype.h"
#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence {

/// Some rows of logits; checked by linearCrossEntropy().
struct LogitRows {
    DType type = DType::F32;
    Index rows = 0, classes = 0;
    void* logits = nullptr;                ///< [rows, classes]
    const std::int32_t* labels = nullptr;  ///< [rows]
    void* rowLoss = nullptr;               ///< [rows], F32 (F64)
    const std::int32_t* counted = nullptr; ///< [1], over all chunks
    const void* gradLoss = nullptr;        ///< [1], F32 (F64); null means 1
    bool wantsGradient = false;
};

/// rowLoss of each row; with wantsGradient the logits become the derivative of the mean loss.
inline const Kernel<void(const LogitRows&)> logitRowsKernel{"compute.linear_cross_entropy.rows"};

/// counted ← number of labels ≥ 0.
inline const Kernel<void(const std::int32_t* labels, Index rows, std::int32_t* counted)>
    countLabelsKernel{"compute.linear_cross_entropy.count"};

/// loss ← Σ rowLoss / counted, 0 where none is counted. rowLoss and loss: F32 or F64.
inline const Kernel<void(DType type, const void* rowLoss, Index rows, const std::int32_t* counted,
                         void* loss)>
    meanRowLossKernel{"compute.linear_cross_entropy.mean"};

} // namespace vergence
