#pragma once

#include "core/compute/ops/number_lanes.h"

namespace vergence {

// Functions of one number, written so that they vectorise (number_lanes.h). For float on the CPU
// they are polynomials of our own (fitted for the least largest error), within the units in the
// last place (ulp) that each names, right for zeros, denormals, infinities and NaN; for double, and
// on CUDA, the library's functions.

namespace fast {

template <class To, class From>
VERGENCE_HD To sameBits(From from)
{
    return __builtin_bit_cast(To, from);
}

/// |magnitude| with the sign of `sign`, magnitude ≥ 0; float.
template <class R>
VERGENCE_HD R withSign(R magnitude, R sign)
{
    using Bits = BitsOf<R>;
    constexpr std::int32_t kSign = INT32_MIN;
    return sameBits<R>(sameBits<Bits>(magnitude) | (sameBits<Bits>(sign) & kSign));
}

/// Applies a scalar function to each lane.
template <class R, class Function>
VERGENCE_HD R perLane(R x, Function function)
{
    if constexpr (kIsScalar<R>) {
        return function(x);
    } else {
        R y = x;
        for (unsigned i = 0; i < sizeof(R) / sizeof(ScalarOf<R>); ++i)
            y[i] = function(x[i]);
        return y;
    }
}

#if defined(__CUDACC__)
template <class R>
inline constexpr bool kOwnPolynomial = false;
#else
template <class R>
inline constexpr bool kOwnPolynomial = std::is_same_v<ScalarOf<R>, float>;
#endif

struct StdExp {
    template <class S>
    VERGENCE_HD S operator()(S x) const
    {
        return std::exp(x);
    }
};
struct StdErf {
    template <class S>
    VERGENCE_HD S operator()(S x) const
    {
        return std::erf(x);
    }
};
struct StdErfc {
    template <class S>
    VERGENCE_HD S operator()(S x) const
    {
        return std::erfc(x);
    }
};
struct StdTanh {
    template <class S>
    VERGENCE_HD S operator()(S x) const
    {
        return std::tanh(x);
    }
};
struct StdLog {
    template <class S>
    VERGENCE_HD S operator()(S x) const
    {
        return std::log(x);
    }
};
struct StdSqrt {
    template <class S>
    VERGENCE_HD S operator()(S x) const
    {
        return std::sqrt(x);
    }
};

/// A number 1.5 · 2²³ whose addition rounds a small float to a whole number.
inline constexpr float kRoundingShift = 12582912.0f;

/// x · 2^n for whole n in [−150, 128], `shifted` = n + kRoundingShift. In two factors where the
/// processor has no instruction for it, so that denormal results are rounded once.
template <class R>
VERGENCE_HD R timesPowerOfTwo(R x, [[maybe_unused]] R n, [[maybe_unused]] R shifted)
{
#if defined(__AVX512F__) && !defined(__CUDACC__)
    if constexpr (sizeof(R) == 64)
        return (R)_mm512_maskz_scalef_ps(0xFFFF, (__m512)x, (__m512)n);
#endif
    using Bits = BitsOf<R>;
    const Bits whole = sameBits<Bits>(shifted) - sameBits<std::int32_t>(kRoundingShift);
    const Bits half = whole >> 1;
    return x * sameBits<R>((half + 127) << 23) * sameBits<R>((whole - half + 127) << 23);
}

/// e^x for x in [−104, 89]: x = n ln 2 + r, e^x = 2^n e^r.
template <class R>
VERGENCE_HD R exponentialInRange(R x)
{
    const R shifted = multiplyAdd(x, spread<R>(1.44269504f), spread<R>(kRoundingShift));
    const R n = shifted - kRoundingShift;
    const R r =
        multiplyAdd(n, spread<R>(-1.42860677e-6f), multiplyAdd(n, spread<R>(-0.693145752f), x));
    constexpr float c[] = {4.999999404e-01f, 1.666651964e-01f, 4.166840017e-02f, 8.368851617e-03f,
                           1.381431823e-03f};
    const R power = multiplyAdd(polynomial(r, c) * r, r, r) + 1.0f;
    return timesPowerOfTwo(power, n, shifted);
}

/// 2^q for q in [−126, 127), within 1.2e-7 of its size.
template <class R>
VERGENCE_HD R powerOfTwo(R q)
{
    using Bits = BitsOf<R>;
    constexpr float c[] = {1.000000072e+00f, 6.931469671e-01f, 2.402211973e-01f,
                           5.550713272e-02f, 9.675541279e-03f, 1.327647274e-03f};
    const R shifted = q + kRoundingShift;
    const R r = q - (shifted - kRoundingShift);
    return sameBits<R>(sameBits<Bits>(polynomial(r, c)) + (sameBits<Bits>(shifted) << 23));
}

/// logarithm() of floats, the same on every device.
template <class R>
VERGENCE_HD R polynomialLogarithm(R x)
{
    using Bits = BitsOf<R>;
    constexpr float c[] = {3.333331347e-01f,  -2.500000894e-01f, 2.000211924e-01f,
                           -1.666799635e-01f, 1.421955079e-01f,  -1.240559146e-01f,
                           1.188817471e-01f,  -1.167564094e-01f, 6.746601313e-02f};
    const auto isTiny = x < 1.17549435e-38f;
    const Bits bits = sameBits<Bits>(select(isTiny, x * 8388608.0f, x));
    const Bits exponent = (bits - 0x3f3504f3) >> 23;
    const R f = sameBits<R>(bits - (exponent << 23)) - 1.0f;
    R n;
    if constexpr (kIsScalar<R>)
        n = static_cast<float>(exponent);
    else
        n = __builtin_convertvector(exponent, R);
    n = select(isTiny, n - 23.0f, n);
    const R square = f * f;
    R y = multiplyAdd(polynomial(f, c) * f, square, square * -0.5f);
    y = multiplyAdd(n, spread<R>(1.42860677e-6f), y) + f;
    y = multiplyAdd(n, spread<R>(0.693145752f), y);
    y = select(x > 3.40282347e38f, x, y); // +∞
    y = select(x == 0.0f, spread<R>(-__builtin_inff()), y);
    return select(x >= 0.0f, y, spread<R>(__builtin_nanf("")));
}

} // namespace fast

/// e^x; 2 ulp.
template <class R>
VERGENCE_HD R exponential(R x)
{
    if constexpr (fast::kOwnPolynomial<R>) {
        return fast::exponentialInRange(atLeast(atMost(x, 89.0f), -104.0f));
    } else {
        return fast::perLane(x, fast::StdExp{});
    }
}

/// erf(x); 2 ulp. x + x P(x²) near 0, 1 − e^−w(|x|) beyond.
template <class R>
VERGENCE_HD R errorFunction(R x)
{
    if constexpr (fast::kOwnPolynomial<R>) {
        constexpr float near[] = {1.283791512e-01f,  -3.761247993e-01f, 1.128168255e-01f,
                                  -2.676171996e-02f, 4.985940177e-03f,  -5.953739164e-04f};
        constexpr float far[] = {2.227810473e-04f, 1.127562761e+00f,  6.373738050e-01f,
                                 1.037622765e-01f, -2.214474604e-02f, 3.022474004e-03f,
                                 -1.938106143e-04f};
        const R size = absolute(x);
        const R inner = multiplyAdd(polynomial(x * x, near), x, x);
        const R outer = 1.0f - fast::exponentialInRange(-polynomial(atMost(size, 4.0f), far));
        return select(size > 0.93f, fast::withSign(outer, x), inner);
    } else {
        return fast::perLane(x, fast::StdErf{});
    }
}

/// tanh(x); 3 ulp.
template <class R>
VERGENCE_HD R hyperbolicTangent(R x)
{
    if constexpr (fast::kOwnPolynomial<R>) {
        constexpr float near[] = {-3.333329856e-01f, 1.333195865e-01f, -5.378668010e-02f,
                                  2.080537751e-02f, -5.905860569e-03f};
        const R size = absolute(x), square = x * x;
        const R inner = multiplyAdd(polynomial(square, near) * square, size, size);
        const R outer = 1.0f - 2.0f / (exponential(size + size) + 1.0f);
        return fast::withSign(select(size > 0.6f, outer, inner), x);
    } else {
        return fast::perLane(x, fast::StdTanh{});
    }
}

/// Natural logarithm; 2 ulp. −∞ at 0, NaN below.
template <class R>
VERGENCE_HD R logarithm(R x)
{
    if constexpr (fast::kOwnPolynomial<R>)
        return fast::polynomialLogarithm(x);
    else
        return fast::perLane(x, fast::StdLog{});
}

/// √x, rounded as IEEE 754 wants.
template <class R>
VERGENCE_HD R squareRoot(R x)
{
#if defined(__SSE__) && !defined(__CUDACC__)
    if constexpr (!kIsScalar<R>) {
        constexpr bool isFloat = std::is_same_v<ScalarOf<R>, float>;
#if defined(__AVX512F__)
        if constexpr (sizeof(R) == 64 && isFloat)
            return (R)_mm512_maskz_sqrt_ps(0xFFFF, (__m512)x);
        else if constexpr (sizeof(R) == 64)
            return (R)_mm512_maskz_sqrt_pd(0xFF, (__m512d)x);
#endif
#if defined(__AVX__)
        if constexpr (sizeof(R) == 32 && isFloat)
            return (R)_mm256_sqrt_ps((__m256)x);
        else if constexpr (sizeof(R) == 32)
            return (R)_mm256_sqrt_pd((__m256d)x);
#endif
        if constexpr (sizeof(R) == 16 && isFloat)
            return (R)_mm_sqrt_ps((__m128)x);
        else if constexpr (sizeof(R) == 16)
            return (R)_mm_sqrt_pd((__m128d)x);
    }
#endif
    return fast::perLane(x, fast::StdSqrt{});
}

/// Standard normal distribution: Φ(x), within 1.5e-7 (and, far below 0, within 3e-5 of its own
/// size), and its density; for floats both tails are 0 from |x| = 12.3 on, where they are below
/// 1e-33: denormal numbers would take some processors a hundred cycles each. Φ(−t) = e^(−t²/2)
/// times a polynomial of 1/(1 + t/4), the form of Handbook of Mathematical Functions (1964),
/// 26.2.17.
template <class R>
struct NormalDistribution {
    R below, density;
};
template <class R>
VERGENCE_HD NormalDistribution<R> normalDistribution(R x)
{
    using S = ScalarOf<R>;
    if constexpr (fast::kOwnPolynomial<R>) {
        constexpr float c[] = {9.886870533e-02f, 1.115800142e-01f,  2.755193412e-02f,
                               2.751311064e-01f, -2.599237263e-01f, 3.373638391e-01f,
                               -9.057187289e-02f};
        constexpr float kLeastPower = -76.0f;
        const R power = x * x * -0.5f;
        const R bell = select(power > kLeastPower,
                              fast::exponentialInRange(atLeast(power, kLeastPower)), spread<R>(0));
        const R k = 1.0f / multiplyAdd(absolute(x), spread<R>(0.25f), spread<R>(1.0f));
        const R tail = bell * k * polynomial(k, c);
        return {select(x > 0.0f, 1.0f - tail, tail), bell * 0.39894228f};
    } else {
        const R below = S(0.5) * fast::perLane(x * S(-0.70710678118654752440), fast::StdErfc{});
        return {below, S(0.39894228040143267794) * exponential(S(-0.5) * x * x)};
    }
}

/// From which t on normalTail() is 0; for our own floats where it is below 1e-23.
template <class R>
inline constexpr ScalarOf<R> kTailEnd = fast::kOwnPolynomial<R> ? 10 : 40;

/// Φ(−t) alone for t in [0, kTailEnd], at less cost than with the density: a power of two whose
/// exponent is a polynomial of t. Within 1.3e-7 and, far from 0, within 1.5e-4 of its own size,
/// which is what the rounding of an exponent of −76 leaves.
template <class R>
VERGENCE_HD R normalTail(R t)
{
    using S = ScalarOf<R>;
    if constexpr (fast::kOwnPolynomial<R>) {
        constexpr float c[] = {-9.999999448e-01f, -1.151107580e+00f, -4.591897076e-01f,
                               -5.254583052e-02f, 7.114992593e-03f,  -1.457546115e-04f,
                               -2.077174573e-04f, 5.604868670e-05f,  -7.789938259e-06f,
                               6.350553989e-07f,  -2.864291491e-08f, 5.520313651e-10f};
        return select(t < kTailEnd<R>, fast::powerOfTwo(pairedPolynomial(t, c)), spread<R>(0));
    } else {
        return S(0.5) * fast::perLane(t * S(0.70710678118654752440), fast::StdErfc{});
    }
}

/// Sine and cosine of 2π u for u in [0, 1], float on every device; error within 2e-7.
template <class R>
struct TurnsSineCosine {
    R sine, cosine;
};
template <class R>
VERGENCE_HD TurnsSineCosine<R> sineCosineOfTurns(R u)
{
    using Bits = BitsOf<R>;
    const R shifted = u * 4.0f + fast::kRoundingShift;
    const Bits quarter = fast::sameBits<Bits>(shifted) & 3;
    const R r = u - (shifted - fast::kRoundingShift) * 0.25f, s = r * r;
    constexpr float sines[] = {6.283185482e+00f, -4.134170151e+01f, 8.160520172e+01f,
                               -7.669777679e+01f, 4.146989059e+01f};
    constexpr float cosines[] = {-1.973920822e+01f, 6.493939209e+01f, -8.545677185e+01f,
                                 6.023845673e+01f, -2.606450844e+01f};
    const R sine = r * polynomial(s, sines), cosine = 1.0f + s * polynomial(s, cosines);
    const auto isTurned = (quarter & 1) != 0;
    const R a = select(isTurned, cosine, sine), b = select(isTurned, sine, cosine);
    return {select(quarter > 1, -a, a), select(((quarter + 1) & 2) != 0, -b, b)};
}

} // namespace vergence
