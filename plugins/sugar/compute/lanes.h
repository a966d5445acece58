#pragma once

// For the CPU builds of kernel files: what the rasteriser needs of vectors beyond
// core/compute/ops/pack.h. Everything is always inlined, so that the builds share no symbol.

#include <cstdint>
#include <cstring>
#include <utility>

#include "core/compute/ops/fast_math.h"
#include "core/compute/ops/pack.h"

namespace vergence::sugar {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace lanes {

using Vector = PackFor<float>;
using Whole = BitsOf<Vector>;
inline constexpr int kLanes = kPackSize<float>;

VERGENCE_HD Vector load(const float* from)
{
    Vector value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

VERGENCE_HD Whole load(const std::int32_t* from)
{
    Whole value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

template <class T, class Value>
VERGENCE_HD void store(T* to, const Value& value)
{
    static_assert(sizeof(value) == kLanes * sizeof(T));
    std::memcpy(to, &value, sizeof(value));
}

VERGENCE_HD Vector all(float value)
{
    return spread<Vector>(value);
}

/// One truth value per lane, in a mask register where the processor has them.
#if defined(__AVX512F__)
struct Mask {
    __mmask16 value;
    VERGENCE_HD unsigned bits() const { return value; }
};
VERGENCE_HD Mask isAtLeast(Vector a, Vector b)
{
    return {_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GE_OQ)};
}
VERGENCE_HD Mask isAbove(Vector a, Vector b)
{
    return {_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ)};
}
VERGENCE_HD Mask isAtLeast(Whole a, std::int32_t b)
{
    return {_mm512_cmp_epi32_mask((__m512i)a, _mm512_set1_epi32(b), _MM_CMPINT_NLT)};
}
VERGENCE_HD Mask operator&(Mask a, Mask b)
{
    return {static_cast<__mmask16>(a.value & b.value)};
}
VERGENCE_HD Mask without(Mask a, Mask b)
{
    return {static_cast<__mmask16>(a.value & ~b.value)};
}
VERGENCE_HD Vector choose(Mask mask, Vector yes, Vector no)
{
    return (Vector)_mm512_mask_blend_ps(mask.value, (__m512)no, (__m512)yes);
}
VERGENCE_HD Vector keep(Mask mask, Vector value)
{
    return (Vector)_mm512_maskz_mov_ps(mask.value, (__m512)value);
}
VERGENCE_HD void storeWhere(Mask mask, std::int32_t* to, std::int32_t value)
{
    _mm512_mask_storeu_epi32(to, mask.value, _mm512_set1_epi32(value));
}
VERGENCE_HD void countWhere(Mask mask, std::int32_t* to)
{
    const __m512i old = _mm512_loadu_si512(to);
    _mm512_storeu_si512(to, _mm512_mask_add_epi32(old, mask.value, old, _mm512_set1_epi32(1)));
}
/// 1/x within 2 ulp.
VERGENCE_HD Vector reciprocal(Vector x)
{
    const Vector y = (Vector)_mm512_maskz_rcp14_ps(0xFFFF, (__m512)x);
    const Vector error = (Vector)_mm512_fnmadd_ps((__m512)x, (__m512)y, (__m512)all(1.0F));
    return multiplyAdd(y, multiplyAdd(error, error, error), y);
}
#else
struct Mask {
    Whole value;
    VERGENCE_HD unsigned bits() const
    {
#if defined(__AVX__)
        return static_cast<unsigned>(_mm256_movemask_ps((__m256)value));
#elif defined(__SSE__)
        return static_cast<unsigned>(_mm_movemask_ps((__m128)value));
#else
        return plain::laneBits(value);
#endif
    }
};
VERGENCE_HD Mask isAtLeast(Vector a, Vector b)
{
    return {a >= b};
}
VERGENCE_HD Mask isAbove(Vector a, Vector b)
{
    return {a > b};
}
VERGENCE_HD Mask isAtLeast(Whole a, std::int32_t b)
{
    return {a >= b};
}
VERGENCE_HD Mask operator&(Mask a, Mask b)
{
    return {a.value & b.value};
}
VERGENCE_HD Mask without(Mask a, Mask b)
{
    return {a.value & ~b.value};
}
VERGENCE_HD Vector choose(Mask mask, Vector yes, Vector no)
{
    return mask.value ? yes : no;
}
VERGENCE_HD Vector keep(Mask mask, Vector value)
{
    return (Vector)((Whole)value & mask.value);
}
VERGENCE_HD void storeWhere(Mask mask, std::int32_t* to, std::int32_t value)
{
    store(to, (load(to) & ~mask.value) | (mask.value & value));
}
VERGENCE_HD void countWhere(Mask mask, std::int32_t* to)
{
    store(to, load(to) - mask.value);
}
VERGENCE_HD Vector reciprocal(Vector x)
{
    return 1.0F / x;
}
#endif

VERGENCE_HD Vector withSignBit(Vector x)
{
    return (Vector)((Whole)x | INT32_MIN);
}

/// 2^x; 2e-7 of the result for x in [−126, 126], anything beyond.
VERGENCE_HD Vector powerOfTwo(Vector x)
{
    constexpr float c[] = {6.931472421e-01F, 2.402265221e-01F, 5.550310388e-02F,
                           9.617692791e-03F, 1.340664341e-03F, 1.559467782e-04F};
    const Vector shifted = x + fast::kRoundingShift, n = shifted - fast::kRoundingShift;
    const Vector r = x - n;
    return fast::timesPowerOfTwo(multiplyAdd(polynomial(r, c), r, all(1.0F)), n, shifted);
}

namespace detail {
/// Lanes of a and b whose index has bit `S` clear, in their places, plus those that have it set.
template <int S, int... I>
VERGENCE_HD Vector addHalves(Vector a, Vector b, std::integer_sequence<int, I...>)
{
    const Vector low = __builtin_shufflevector(a, b, ((I & S) ? kLanes + I - S : I)...);
    const Vector high = __builtin_shufflevector(a, b, ((I & S) ? kLanes + I : I + S)...);
    return low + high;
}

template <int S>
VERGENCE_HD void sumSteps(Vector* rows)
{
    if constexpr (S < kLanes) {
        for (int i = 0; i < kLanes / (2 * S); ++i)
            rows[i] = addHalves<S>(rows[2 * i], rows[2 * i + 1],
                                   std::make_integer_sequence<int, kLanes>{});
        sumSteps<2 * S>(rows);
    }
}

template <int S, int... I>
VERGENCE_HD void exchange(Vector& a, Vector& b, std::integer_sequence<int, I...>)
{
    const Vector low = __builtin_shufflevector(a, b, ((I & S) ? kLanes + I - S : I)...);
    const Vector high = __builtin_shufflevector(a, b, ((I & S) ? kLanes + I : I + S)...);
    a = low;
    b = high;
}

template <int S>
VERGENCE_HD void transposeSteps(Vector* rows)
{
    if constexpr (S < kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            if (!(i & S))
                exchange<S>(rows[i], rows[i + S], std::make_integer_sequence<int, kLanes>{});
        }
        transposeSteps<2 * S>(rows);
    }
}
} // namespace detail

/// out[i] = sum of the lanes of rows[i], i < 16. Uses `rows` up.
VERGENCE_HD void sumRows(Vector* rows, float* out)
{
    for (int group = 0; group < 16; group += kLanes) {
        detail::sumSteps<1>(rows + group);
        store(out + group, rows[group]);
    }
}

/// Lane i of row j becomes lane j of row i.
VERGENCE_HD void transpose(Vector* rows)
{
    detail::transposeSteps<1>(rows);
}

} // namespace lanes
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::sugar
