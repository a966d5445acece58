#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__SSE__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

#include "core/compute/host_device.h"
#include "core/compute/ops/plain_lanes.h"

namespace vergence {

// What formulas need so that one text serves a number and a vector of numbers: R is float, double,
// or, in CPU kernels, a vector of either (GCC's vector types).

/// The scalar of R and the integers (or truth values) that go with it.
template <class R, class = void>
struct NumberTraits;
template <>
struct NumberTraits<float> {
    using Scalar = float;
    using Bits = std::int32_t;
};
template <>
struct NumberTraits<double> {
    using Scalar = double;
    using Bits = std::int64_t;
};
#if !defined(__CUDACC__)
template <class R>
struct NumberTraits<R, std::void_t<decltype(std::declval<R&>()[0])>> {
    using Scalar = std::remove_cvref_t<decltype(std::declval<R&>()[0])>;
    using Bits = decltype(std::declval<R&>() < std::declval<R&>());
};
#endif
template <class R>
using ScalarOf = typename NumberTraits<R>::Scalar;
template <class R>
using BitsOf = typename NumberTraits<R>::Bits;

template <class R>
inline constexpr bool kIsScalar = std::is_arithmetic_v<R>;

/// `value` in every lane.
template <class R>
VERGENCE_HD R spread(ScalarOf<R> value)
{
    if constexpr (kIsScalar<R>)
        return value;
    else
        return value - R{};
}

/// a where `mask` holds, else b.
template <class Mask, class R>
VERGENCE_HD R select(Mask mask, R a, R b)
{
    return mask ? a : b;
}

/// a · b + c, rounded once where the processor can, twice where it cannot.
template <class R>
VERGENCE_HD R multiplyAdd(R a, R b, R c)
{
#if defined(__CUDACC__)
    return fma(a, b, c);
#elif defined(__FMA__)
    using S = ScalarOf<R>;
    constexpr bool isFloat = std::is_same_v<S, float>;
    if constexpr (kIsScalar<R> && isFloat)
        return __builtin_fmaf(a, b, c);
    else if constexpr (kIsScalar<R>)
        return __builtin_fma(a, b, c);
#if defined(__AVX512F__)
    else if constexpr (sizeof(R) == 64 && isFloat)
        return (R)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    else if constexpr (sizeof(R) == 64)
        return (R)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#endif
    else if constexpr (sizeof(R) == 32 && isFloat)
        return (R)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    else if constexpr (sizeof(R) == 32)
        return (R)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
    else
        return a * b + c;
#elif defined(__FP_FAST_FMAF)
    if constexpr (kIsScalar<R>)
        return plain::MultiplyAdd{}(a, b, c);
    else
        return plain::eachLane<R>(plain::MultiplyAdd{}, a, b, c);
#else
    return a * b + c;
#endif
}
template <class R>
VERGENCE_HD std::enable_if_t<!kIsScalar<R>, R> multiplyAdd(R a, R b, ScalarOf<R> c)
{
    return multiplyAdd(a, b, spread<R>(c));
}

/// c[0] + c[1] x + … + c[N − 1] x^(N − 1)
template <class R, int N>
VERGENCE_HD R polynomial(R x, const ScalarOf<R> (&c)[N])
{
    R sum = spread<R>(c[N - 1]);
    for (int i = N - 2; i >= 0; --i)
        sum = multiplyAdd(sum, x, spread<R>(c[i]));
    return sum;
}

/// The same from pairs and pairs of pairs of terms (Estrin's scheme): two multiplications more, but
/// less than half as many that wait for one another.
template <class R, int N>
VERGENCE_HD R pairedPolynomial(R x, const ScalarOf<R> (&c)[N])
{
    static_assert(N % 4 == 0);
    const R square = x * x, fourth = square * square;
    R sum;
    for (int i = N - 4; i >= 0; i -= 4) {
        const R low = multiplyAdd(x, spread<R>(c[i + 1]), spread<R>(c[i]));
        const R high = multiplyAdd(x, spread<R>(c[i + 3]), spread<R>(c[i + 2]));
        const R four = multiplyAdd(high, square, low);
        sum = i == N - 4 ? four : multiplyAdd(sum, fourth, four);
    }
    return sum;
}

template <class R>
VERGENCE_HD R absolute(R x)
{
    if constexpr (kIsScalar<R>)
        return std::fabs(x);
    else
        return (R)((BitsOf<R>)x & ~(BitsOf<R>)spread<R>(ScalarOf<R>(-0.0)));
}

/// The smaller (atMost) or larger (atLeast) of x and `bound`; NaN stays NaN.
template <class R>
VERGENCE_HD R atMost(R x, ScalarOf<R> bound)
{
    const R limit = spread<R>(bound);
#if defined(__SSE__) && !defined(__CUDACC__)
    if constexpr (!kIsScalar<R> && std::is_same_v<ScalarOf<R>, float>) {
#if defined(__AVX512F__)
        if constexpr (sizeof(R) == 64) // masked, as the plain one warns in GCC 12
            return (R)_mm512_maskz_min_ps(0xFFFF, (__m512)limit, (__m512)x);
#endif
#if defined(__AVX__)
        if constexpr (sizeof(R) == 32)
            return (R)_mm256_min_ps((__m256)limit, (__m256)x);
#endif
        if constexpr (sizeof(R) == 16)
            return (R)_mm_min_ps((__m128)limit, (__m128)x);
    }
#endif
    return select(x > limit, limit, x);
}
template <class R>
VERGENCE_HD R atLeast(R x, ScalarOf<R> bound)
{
    const R limit = spread<R>(bound);
#if defined(__SSE__) && !defined(__CUDACC__)
    if constexpr (!kIsScalar<R> && std::is_same_v<ScalarOf<R>, float>) {
#if defined(__AVX512F__)
        if constexpr (sizeof(R) == 64)
            return (R)_mm512_maskz_max_ps(0xFFFF, (__m512)limit, (__m512)x);
#endif
#if defined(__AVX__)
        if constexpr (sizeof(R) == 32)
            return (R)_mm256_max_ps((__m256)limit, (__m256)x);
#endif
        if constexpr (sizeof(R) == 16)
            return (R)_mm_max_ps((__m128)limit, (__m128)x);
    }
#endif
    return select(x < limit, limit, x);
}

} // namespace vergence
