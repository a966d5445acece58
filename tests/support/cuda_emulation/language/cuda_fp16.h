#pragma once

// IEEE 754 binary16, rounded to nearest even.

#include "tests/support/cuda_emulation/language/device_language.h"

struct __half {
    unsigned short bits;
};
struct alignas(4) __half2 {
    __half x, y;
};

inline __half __float2half_rn(float value)
{
    if (value != value)
        return {0x7fff};
    return {__builtin_bit_cast(unsigned short, static_cast<_Float16>(value))};
}
inline float __half2float(__half value)
{
    return static_cast<float>(__builtin_bit_cast(_Float16, value.bits));
}
inline unsigned short __half_as_ushort(__half value)
{
    return value.bits;
}
inline __half __ushort_as_half(unsigned short bits)
{
    return {bits};
}
inline __half2 __floats2half2_rn(float low, float high)
{
    return {__float2half_rn(low), __float2half_rn(high)};
}
