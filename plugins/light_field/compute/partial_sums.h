#pragma once

// For kernel files only: an inline namespace per build, so that no two builds share a symbol.

#include "core/compute/temporary.h"
#include "plugins/light_field/compute/update_math.h"

namespace vergence::light_field {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Partial results as reduceInto() reads them: number `offset` of every group of `stride`.
struct ReadPartialSum {
    const double* partial;
    int stride, offset;
    VERGENCE_HD double operator()(Index group) const { return partial[group * stride + offset]; }
};

struct ReadTexelSums {
    const TexelSums* partial;
    VERGENCE_HD TexelSums operator()(Index i) const { return partial[i]; }
};

struct AddTexelSums {
    VERGENCE_HD TexelSums operator()(TexelSums a, const TexelSums& b) const
    {
        a.add(b);
        return a;
    }
};

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::light_field
