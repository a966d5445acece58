#pragma once

// For the CPU builds of kernel files: sixteen floats as the widest vectors of the instruction set.
// Everything is always inlined, so that the builds share no symbol.

#include <cstring>
#include <utility>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#include "core/compute/host_device.h"

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
#else
        return _mm_sqrt_ps(value);
#endif
    }
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
