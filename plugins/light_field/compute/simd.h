#pragma once

// For the CPU builds of kernel files: sixteen floats as the widest vectors of the instruction set.
// Everything is always inlined, so that the builds share no symbol.

#include <cstring>
#include <utility>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#include "core/compute/host_device.h"
#include "core/compute/ops/plain_lanes.h"

namespace vergence::light_field::simd {

#if defined(__AVX512F__)
inline constexpr int kNative = 16;
#elif defined(__AVX__)
inline constexpr int kNative = 8;
#else
inline constexpr int kNative = 4;
#endif
inline constexpr int kPack = 16;
inline constexpr int kParts = kPack / kNative;

typedef float Native __attribute__((vector_size(kNative * sizeof(float))));
typedef int NativeInt __attribute__((vector_size(kNative * sizeof(int))));

VERGENCE_HD Native load(const float* from)
{
    Native value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

VERGENCE_HD NativeInt load(const int* from)
{
    NativeInt value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

VERGENCE_HD void store(float* to, const Native& value)
{
    std::memcpy(to, &value, sizeof(value));
}

VERGENCE_HD Native spread(float value)
{
    return Native{} + value;
}

/// value where `limit` >= `measure`, otherwise 0.
VERGENCE_HD Native keepWithin(const Native& value, const Native& measure, const Native& limit)
{
    return measure <= limit ? value : Native{};
}

VERGENCE_HD float sumOf(const Native& value)
{
    float sum = 0;
    for (int i = 0; i < kNative; ++i)
        sum += value[i];
    return sum;
}

struct NativeRoot {
    VERGENCE_HD Native operator()(const Native& value) const
    {
#if defined(__AVX512F__)
        return _mm512_maskz_sqrt_ps(0xFFFF, value); // the plain one warns in GCC 12
#elif defined(__AVX__)
        return _mm256_sqrt_ps(value);
#elif defined(__SSE__)
        return _mm_sqrt_ps(value);
#else
        return plain::eachLane<Native>(plain::Root{}, value);
#endif
    }
};

/// from[index], and 0 where the index is negative.
VERGENCE_HD Native gather(const float* from, const NativeInt& index)
{
#if defined(__AVX512F__)
    const __m512i at = reinterpret_cast<const __m512i&>(index);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(),
                                    _mm512_cmpge_epi32_mask(at, _mm512_setzero_si512()), at, from,
                                    sizeof(float));
#elif defined(__AVX2__)
    const __m256i at = reinterpret_cast<const __m256i&>(index);
    const __m256 used = _mm256_castsi256_ps(_mm256_cmpgt_epi32(at, _mm256_set1_epi32(-1)));
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), from, at, used, sizeof(float));
#else
    Native value{};
    for (int i = 0; i < kNative; ++i)
        value[i] = index[i] >= 0 ? from[index[i]] : 0.0f;
    return value;
#endif
}

/// Functions of a vector, correctly rounded as those of a number are.
struct NativeMath {
    VERGENCE_HD Native root(const Native& value) const { return NativeRoot{}(value); }
#if defined(__SSE__)
    VERGENCE_HD Native nearest(const Native& value) const
    {
        return rounded<_MM_FROUND_TO_NEAREST_INT>(value);
    }
    VERGENCE_HD Native truncated(const Native& value) const
    {
        return rounded<_MM_FROUND_TO_ZERO>(value);
    }

private:
    template <int Mode>
    VERGENCE_HD static Native rounded(const Native& value)
    {
#if defined(__AVX512F__)
        return _mm512_maskz_roundscale_ps(0xFFFF, value, Mode); // the plain one warns in GCC 12
#elif defined(__AVX__)
        return _mm256_round_ps(value, Mode | _MM_FROUND_NO_EXC);
#else
        return _mm_round_ps(value, Mode | _MM_FROUND_NO_EXC);
#endif
    }
#else
    VERGENCE_HD Native nearest(const Native& value) const
    {
        return plain::eachLane<Native>(plain::Nearest{}, value);
    }
    VERGENCE_HD Native truncated(const Native& value) const
    {
        return plain::eachLane<Native>(plain::Truncated{}, value);
    }
#endif
};

namespace detail {

/// Exchanges the off-diagonal blocks of side `S` between two rows.
template <int S, int... I>
VERGENCE_HD void exchange(Native& a, Native& b, std::integer_sequence<int, I...>)
{
    const Native low = __builtin_shufflevector(a, b, ((I & S) ? kNative + I - S : I)...);
    const Native high = __builtin_shufflevector(a, b, ((I & S) ? kNative + I : I + S)...);
    a = low;
    b = high;
}

template <int L, int Side, int Step>
VERGENCE_HD void transposeStep(Native* rows)
{
    if constexpr (Step < Side) {
        for (int i = 0; i < Side; ++i) {
            if (!(i & Step))
                exchange<Step * L>(rows[i], rows[i + Step],
                                   std::make_integer_sequence<int, kNative>{});
        }
        transposeStep<L, Side, Step * 2>(rows);
    }
}

} // namespace detail

/// Texels of `L` floats that fit a native vector; as many rows make a square.
template <int L>
inline constexpr int kSide = kNative > L ? kNative / L : 1;

/// Transposes kSide<L> rows of kSide<L> texels of L floats in place.
template <int L>
VERGENCE_HD void transpose(Native* rows)
{
    detail::transposeStep<L, kSide<L>, 1>(rows);
}

} // namespace vergence::light_field::simd
