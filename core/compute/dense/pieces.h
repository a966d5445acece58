#pragma once

// How products and convolutions are cut into pieces.

#include <cstddef>

#include "core/compute/dtype.h"
#include "core/compute/tensor.h"

namespace vergence {

inline Index ceilDiv(Index a, Index b)
{
    return (a + b - 1) / b;
}

/// Address of an element; null stays null.
inline std::byte* advanced(const void* data, Index elements, DType type)
{
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(data));
    return bytes ? bytes + elements * static_cast<Index>(sizeOf(type)) : nullptr;
}

} // namespace vergence
