#pragma once

// CUDA's functions on single numbers. Those that are fast and less exact there are exact here.

#include <cmath>
#include <math.h>

// --- bits
// ------------------------------------------------------------------------------------------

inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline unsigned __float_as_uint(float x)
{
    return __builtin_bit_cast(unsigned, x);
}
inline int __float_as_int(float x)
{
    return __builtin_bit_cast(int, x);
}
inline float __uint_as_float(unsigned x)
{
    return __builtin_bit_cast(float, x);
}
inline float __int_as_float(int x)
{
    return __builtin_bit_cast(float, x);
}
inline unsigned __umulhi(unsigned a, unsigned b)
{
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

// --- real numbers
// ----------------------------------------------------------------------------------

namespace vergence::emulation {

/// The rounded number: nothing of what comes after joins it in one instruction.
inline __attribute__((always_inline)) float keptRounded(float x)
{
#if defined(__SSE__)
    asm("" : "+x"(x));
#elif defined(__aarch64__)
    asm("" : "+w"(x));
#endif
    return x;
}

} // namespace vergence::emulation

inline float __fmul_rn(float a, float b)
{
    return ::vergence::emulation::keptRounded(a * b);
}
inline float __fadd_rn(float a, float b)
{
    return ::vergence::emulation::keptRounded(::vergence::emulation::keptRounded(a) +
                                              ::vergence::emulation::keptRounded(b));
}
inline float __fmaf_rn(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
inline float __fdividef(float a, float b)
{
    return a / b;
}
inline float __expf(float x)
{
    return expf(x);
}
inline float __logf(float x)
{
    return logf(x);
}
inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}

template <class T>
inline T __ldg(const T* at)
{
    return *at;
}
inline void __threadfence() {}

// --- the smaller and the larger
// --------------------------------------------------------------------

#define VERGENCE_EMULATED_ORDER(T, smaller, larger)                                                \
    inline T min(T a, T b)                                                                         \
    {                                                                                              \
        return smaller;                                                                            \
    }                                                                                              \
    inline T max(T a, T b)                                                                         \
    {                                                                                              \
        return larger;                                                                             \
    }
#define VERGENCE_EMULATED_ORDER_OF_INTEGER(T)                                                      \
    VERGENCE_EMULATED_ORDER(T, b < a ? b : a, a < b ? b : a)

VERGENCE_EMULATED_ORDER_OF_INTEGER(int)
VERGENCE_EMULATED_ORDER_OF_INTEGER(unsigned)
VERGENCE_EMULATED_ORDER_OF_INTEGER(long)
VERGENCE_EMULATED_ORDER_OF_INTEGER(unsigned long)
VERGENCE_EMULATED_ORDER_OF_INTEGER(long long)
VERGENCE_EMULATED_ORDER_OF_INTEGER(unsigned long long)
VERGENCE_EMULATED_ORDER(float, fminf(a, b), fmaxf(a, b))
VERGENCE_EMULATED_ORDER(double, fmin(a, b), fmax(a, b))

#undef VERGENCE_EMULATED_ORDER_OF_INTEGER
#undef VERGENCE_EMULATED_ORDER
