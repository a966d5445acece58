#pragma once

#include "core/compute/kernel.h"

namespace vergence {

/// product = op(a) · op(b) in double, one matrix, on the calling thread. CPU only.
struct DoubleProduct {
    const double* a = nullptr;
    Index aStride = 0;
    bool transposeA = false;
    const double* b = nullptr;
    Index bStride = 0;
    bool transposeB = false;
    Index m = 0, n = 0, k = 0;
    double* product = nullptr; ///< [m, n], overwritten
    Index productStride = 0;
};

inline const Kernel<void(const DoubleProduct&)> doubleProduct{"dense.doubleProduct"};

} // namespace vergence
