#pragma once

// What the CPU builds of kernel files do with vectors where no instruction set is named: loops over
// lanes that GCC makes vector instructions of, where the processor has them.

#include <cstdint>

#include "core/compute/host_device.h"

#if !defined(__CUDACC__)

namespace vergence::plain {

/// Lane i is operation(values[i]…). The loop must reach the vectoriser as one: of the pieces that
/// early unrolling leaves, GCC 12 makes scalar instructions where operands have been swapped.
template <class R, class Operation, class... Values>
VERGENCE_HD R eachLane(Operation operation, const Values&... values)
{
    R result;
    constexpr int kCount = sizeof(R) / sizeof(result[0]);
#pragma GCC unroll 1
    for (int i = 0; i < kCount; ++i)
        result[i] = operation(values[i]...);
    return result;
}

struct MultiplyAdd {
    VERGENCE_HD float operator()(float a, float b, float c) const
    {
        return __builtin_fmaf(a, b, c);
    }
    VERGENCE_HD double operator()(double a, double b, double c) const
    {
        return __builtin_fma(a, b, c);
    }
};

struct Root {
    VERGENCE_HD float operator()(float x) const { return __builtin_sqrtf(x); }
};

/// To the nearest whole number, of two the even one.
struct Nearest {
    VERGENCE_HD float operator()(float x) const { return __builtin_nearbyintf(x); }
};

struct Truncated {
    VERGENCE_HD float operator()(float x) const { return __builtin_truncf(x); }
};

/// Bit i: lane i of a mask of four is set.
template <class Mask>
VERGENCE_HD unsigned laneBits(const Mask& mask)
{
    static_assert(sizeof(mask) == 16 && sizeof(mask[0]) == 4);
    return static_cast<unsigned>((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
}

/// Bit i: byte i of a mask of sixteen is set.
template <class Mask>
VERGENCE_HD std::uint16_t byteBits(const Mask& mask)
{
    static_assert(sizeof(mask) == 16 && sizeof(mask[0]) == 1);
    typedef std::uint64_t Halves __attribute__((vector_size(16)));
    // One bit of each byte; multiplying adds up those of a half in its top byte.
    const Halves bits = (Halves)mask & 0x8040201008040201u;
    constexpr std::uint64_t kEveryByte = 0x0101010101010101u;
    return static_cast<std::uint16_t>(bits[0] * kEveryByte >> 56 | bits[1] * kEveryByte >> 56 << 8);
}

} // namespace vergence::plain

#endif
