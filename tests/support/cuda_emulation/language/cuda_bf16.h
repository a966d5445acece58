#pragma once

// The upper half of a binary32, rounded to nearest even.

#include "tests/support/cuda_emulation/language/device_language.h"

struct __nv_bfloat16 {
    unsigned short bits;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __float2bfloat16_rn(float value)
{
    if (value != value)
        return {0x7fff};
    const unsigned bits = __float_as_uint(value);
    return {static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
inline float __bfloat162float(__nv_bfloat16 value)
{
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high)
{
    return {__float2bfloat16_rn(low), __float2bfloat16_rn(high)};
}
