#pragma once

// For kernel files: many Philox words at once.

#include "core/compute/ops/loops.h"
#include "core/compute/rng.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

#if !defined(__CUDACC__)

namespace philoxes {

/// Vectors of 32-bit words of the instruction set.
inline constexpr int kWords = kVectorBytes / 4;
using Words = Pack<std::uint32_t, kWords>;

#if defined(__SSE2__)

/// Products of the even words of a and b: 64 bits in place of each pair of words.
VERGENCE_HD Words multiplyEven(Words a, Words b)
{
#if defined(__AVX512F__)
    return (Words)_mm512_maskz_mul_epu32(0xFF, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Words)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
    return (Words)_mm_mul_epu32((__m128i)a, (__m128i)b);
#endif
}

/// High and low halves of factor · a.
VERGENCE_HD void multiplyWide(Words a, std::uint32_t factor, Words& high, Words& low)
{
    using Wide = Pack<std::uint64_t, kWords / 2>;
    const Words b = Words{} + factor;
    const Wide even = (Wide)multiplyEven(a, b);
    const Wide odd = (Wide)multiplyEven((Words)((Wide)a >> 32), b);
    constexpr std::uint64_t kLow = 0xffffffffu;
    high = (Words)((even >> 32) | (odd & ~kLow));
    low = (Words)((even & kLow) | (odd << 32));
}

#else

VERGENCE_HD void multiplyWide(Words a, std::uint32_t factor, Words& high, Words& low)
{
    Words above, below;
#pragma GCC unroll 1 // see plain::eachLane
    for (int i = 0; i < kWords; ++i) {
        const std::uint64_t product = std::uint64_t{a[i]} * factor;
        above[i] = static_cast<std::uint32_t>(product >> 32);
        below[i] = static_cast<std::uint32_t>(product);
    }
    high = above;
    low = below;
}

#endif

/// Number I of the interleaved halves of a and b, per 16 bytes: words (a0 b0 a1 b1 or a2 b2 a3 b3)
/// or pairs of words (a0 a1 b0 b1 or a2 a3 b2 b3).
template <bool isHigh, bool inPairs, class V, int... I>
VERGENCE_HD V interleave(V a, V b, std::integer_sequence<int, I...>)
{
    constexpr int kHalf = isHigh ? 2 : 0;
    return __builtin_shufflevector(a, b,
                                   (I / 4 * 4 + kHalf + (inPairs ? I % 2 : I % 4 / 2) +
                                    ((inPairs ? I % 4 / 2 : I % 2) != 0 ? kWords : 0))...);
}

/// Of four vectors with the words 0, 1, 2, 3 of blocks in the order of blockOrder(), the words of
/// all blocks one after another.
template <class V>
VERGENCE_HD void inOrder(V (&word)[4])
{
    constexpr auto all = std::make_integer_sequence<int, kWords>{};
    const V a = interleave<false, false>(word[0], word[1], all);
    const V b = interleave<false, false>(word[2], word[3], all);
    const V c = interleave<true, false>(word[0], word[1], all);
    const V d = interleave<true, false>(word[2], word[3], all);
    word[0] = interleave<false, true>(a, b, all);
    word[1] = interleave<true, true>(a, b, all);
    word[2] = interleave<false, true>(c, d, all);
    word[3] = interleave<true, true>(c, d, all);
}

/// Which block each place of a vector works on, so that inOrder() needs no shuffles across 16
/// bytes.
template <std::uint32_t... I>
VERGENCE_HD Words blockOrder(std::integer_sequence<std::uint32_t, I...>)
{
    return Words{(I % 4 * (kWords / 4) + I / 4)...};
}

/// kWords blocks of (seed, stream) from block `first` on, in the order of blockOrder().
VERGENCE_HD void blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                        Words (&word)[4])
{
    const auto low = static_cast<std::uint32_t>(first);
    Words c0 = blockOrder(std::make_integer_sequence<std::uint32_t, kWords>{}) + low;
    // Where the low half overflowed, the high half counts one more.
    Words c1 = static_cast<std::uint32_t>(first >> 32) - (Words)(c0 < low);
    Words c2 = Words{} + static_cast<std::uint32_t>(stream);
    Words c3 = Words{} + static_cast<std::uint32_t>(stream >> 32);
    Words k0 = Words{} + static_cast<std::uint32_t>(seed);
    Words k1 = Words{} + static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        Words high0, low0, high1, low1;
        multiplyWide(c0, 0xD2511F53u, high0, low0);
        multiplyWide(c2, 0xCD9E8D57u, high1, low1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 = k0 + 0x9E3779B9u;
        k1 = k1 + 0xBB67AE85u;
    }
    word[0] = c0;
    word[1] = c1;
    word[2] = c2;
    word[3] = c3;
}

} // namespace philoxes

/// Words that one call of philoxWords gives.
inline constexpr int kWordBatch = 4 * philoxes::kWords;

/// words[i] = word `4 · block + i` of (seed, stream), as Rng::bits gives it.
VERGENCE_HD void philoxWords(std::uint64_t seed, std::uint64_t stream, std::uint64_t block,
                             std::uint32_t (&words)[kWordBatch])
{
    philoxes::Words word[4];
    philoxes::blocks(seed, stream, block, word);
    philoxes::inOrder(word);
    std::memcpy(words, word, sizeof(words));
}

/// `value` where the word is at least `threshold`, else 0.
template <class P>
VERGENCE_HD P keptWhere(const std::uint32_t* words, std::uint32_t threshold, P value)
{
    constexpr int N = sizeof(P) / sizeof(ScalarOf<P>);
    Pack<std::uint32_t, N> word;
    std::memcpy(&word, words, sizeof(word));
    return select(__builtin_convertvector(word >= threshold, BitsOf<P>), value, P{});
}

#else

inline constexpr int kWordBatch = 4;

VERGENCE_HD void philoxWords(std::uint64_t seed, std::uint64_t stream, std::uint64_t block,
                             std::uint32_t (&words)[kWordBatch])
{
    const PhiloxBlock four = philox(seed, stream, block);
    for (int k = 0; k < 4; ++k)
        words[k] = four.word[k];
}

template <class Real, int N>
VERGENCE_HD ThreadPack<Real, N> keptWhere(const std::uint32_t* words, std::uint32_t threshold,
                                          ThreadPack<Real, N> value)
{
    for (int i = 0; i < N; ++i)
        value[i] = words[i] >= threshold ? value[i] : Real(0);
    return value;
}

#endif

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
