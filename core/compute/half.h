#pragma once

#include <cstdint>

#include "core/compute/dtype.h"
#include "core/compute/host_device.h"

#if defined(__CUDACC__)
#include "core/compute/half_device.cuh"
#endif

namespace vergence {

#if !defined(__CUDACC__)
#if defined(__aarch64__)
using NativeHalf = __fp16; // in C++, GCC has _Float16 there from 13 on
#else
using NativeHalf = _Float16;
#endif
#endif

/// Storage types of 16 bits. Arithmetic happens in float: read, compute, write back rounded to
/// nearest even. Source: IEEE 754-2019, section 3.6 (binary16); bfloat16 is the upper half of a
/// binary32.
struct BFloat16 {
    std::uint16_t bits;

    BFloat16() = default;
    VERGENCE_HD explicit BFloat16(float value)
    {
        const auto u = __builtin_bit_cast(std::uint32_t, value);
        const bool isNan = (u & 0x7fffffffu) > 0x7f800000u;
        const std::uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
        bits = static_cast<std::uint16_t>(isNan ? ((u >> 16) | 0x40u) : (rounded >> 16));
    }
    VERGENCE_HD operator float() const
    {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
    }
};

struct Float16 {
    std::uint16_t bits;

    Float16() = default;
#if defined(__CUDACC__)
    VERGENCE_HD explicit Float16(float value) : bits(__half_as_ushort(__float2half_rn(value))) {}
    VERGENCE_HD operator float() const
    {
        return __half2float(__ushort_as_half(bits));
    }
#else
    VERGENCE_HD explicit Float16(float value)
        : bits(__builtin_bit_cast(std::uint16_t, static_cast<NativeHalf>(value)))
    {
    }
    VERGENCE_HD operator float() const
    {
        return static_cast<float>(__builtin_bit_cast(NativeHalf, bits));
    }
#endif
};

template <>
struct DTypeOf<Float16> {
    static constexpr DType value = DType::F16;
};
template <>
struct DTypeOf<BFloat16> {
    static constexpr DType value = DType::BF16;
};

/// What sums of T are kept in: double for double, float for all else.
template <class T>
struct AccumulatorOf {
    using type = float;
};
template <>
struct AccumulatorOf<double> {
    using type = double;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

} // namespace vergence
