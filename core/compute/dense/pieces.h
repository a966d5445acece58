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

/// Bytes of whole blocks of 256, where the next thing may begin.
constexpr std::size_t padded(std::size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/// Address of an element; null stays null.
inline std::byte* advanced(const void* data, Index elements, DType type)
{
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(data));
    return bytes ? bytes + elements * static_cast<Index>(sizeOf(type)) : nullptr;
}

} // namespace vergence
