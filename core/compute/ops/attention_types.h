#pragma once

// For kernel files.

#include "core/compute/half.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Calls run(T{}) with the floating-point type that `type` names.
template <class Run>
void withElementType(DType type, const Run& run)
{
    if (type == DType::F32)
        run(float{});
    else if (type == DType::F64)
        run(double{});
    else if (type == DType::F16)
        run(Float16{});
    else
        run(BFloat16{});
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
