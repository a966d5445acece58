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

/// Words 4 · first … of (seed, stream): kWords blocks of four, word by word. first + kWords stays
/// below a multiple of 2³² that the block numbers do not cross (see philoxWords).
VERGENCE_HD void blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                        Words (&word)[4])
{
    Words c0, c1 = Words{} + static_cast<std::uint32_t>(first >> 32);
    for (int i = 0; i < kWords; ++i)
        c0[i] = static_cast<std::uint32_t>(i);
    c0 = c0 + static_cast<std::uint32_t>(first);
    // Where the low half overflowed, the high half counts one more.
    c1 = c1 - (Words)(c0 < static_cast<std::uint32_t>(first));
    Words c2 = Words{} + static_cast<std::uint32_t>(stream);
    Words c3 = Words{} + static_cast<std::uint32_t>(stream >> 32);
    std::uint32_t k0 = static_cast<std::uint32_t>(seed);
    std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        Words high0, low0, high1, low1;
        multiplyWide(c0, 0xD2511F53u, high0, low0);
        multiplyWide(c2, 0xCD9E8D57u, high1, low1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
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
    for (int i = 0; i < philoxes::kWords; ++i) {
        for (int k = 0; k < 4; ++k)
            words[4 * i + k] = word[k][i];
    }
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

#endif

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
