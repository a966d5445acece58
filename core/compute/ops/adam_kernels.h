#pragma once

#include "core/compute/kernel.h"
#include "core/compute/ops/adam_math.h"
#include "core/compute/tensor.h"

namespace vergence {

/// The sum of squares of all gradients and what follows from it.
struct AdamPreparation {
    Tensor gradients;                 ///< [n] F32 or F64; empty counts as 0
    AdamNorm* norm = nullptr;         ///< on the device
    AdamCounters* counters = nullptr; ///< on the device
    double beta1 = 0, beta2 = 0, clipNorm = 0;
};
inline const Kernel<void(const AdamPreparation&)> adamPrepareKernel{"compute.adamPrepare"};

/// The update of one group.
struct AdamUpdate {
    Tensor gradients, first, second, values; ///< [n] F32 or F64
    Tensor shadows;                          ///< [n] F16 or BF16; may be empty
    const double* rate = nullptr;            ///< on the device
    const AdamNorm* norm = nullptr;          ///< on the device
    double beta1 = 0, beta2 = 0, epsilon = 0, weightDecay = 0;
    bool decoupledDecay = true;
};
inline const Kernel<void(const AdamUpdate&)> adamUpdateKernel{"compute.adamUpdate"};

} // namespace vergence
