#pragma once

#include <cstdint>
#include <cstring>

#include "core/compute/half.h"
#include "core/compute/ops/fast_math.h"
#include "core/compute/view.h"

namespace vergence::sugar {

// Adam's moments in memory: as they are, or compact (see MomentFormat). Compact first moments are
// BF16, rounded to nearest: they fall by a tenth a step, far more than neighbours lie apart. Second
// moments are kept as their root, in BF16 or, of the harmonics above degree 0, in 8 bits. A root
// falls by 0.05 % a step at most, far less than neighbours lie apart, so it is rounded up with the
// probability that is the share cut off, and its mean follows the recurrence. The random number is
// a function of step, group and place. R is a number or a vector of numbers.

/// What the 8 bits of a root are: 0, or bits 20 to 30 of a float less this, that is three bits of
/// fraction from 5.2e-10 to 1.9. Smaller roots are raised, as those of 0 would make steps without
/// bounds; larger ones are cut. A mean loss has derivatives with respect to harmonics below 2.
inline constexpr std::uint32_t kRootOffset = 96U << 3;

/// Unsigned integers as many and as wide as the floats of R.
template <class R>
struct WordsFor {
    using Type = std::uint32_t;
};
#if !defined(__CUDACC__)
template <class R>
requires(!kIsScalar<R>) struct WordsFor<R> {
    typedef std::uint32_t Type __attribute__((vector_size(sizeof(R))));
};
/// GCC 12 goes from words to bytes and back one by one, but not by way of halves.
template <class R>
struct VectorsFor {
    typedef std::uint16_t Halves __attribute__((vector_size(sizeof(R) / 2)));
    typedef std::uint8_t Bytes __attribute__((vector_size(sizeof(R) / 4)));
};
#endif
template <class R>
using WordsOf = typename WordsFor<R>::Type;

/// Where random numbers for rounding come from: a key for step and group, and the place of the
/// first number in its array.
struct Rounding {
    std::uint32_t key = 0;
    Index place = 0;
};

namespace codec {

template <class R>
VERGENCE_HD WordsOf<R> wordsOf(R numbers)
{
    return __builtin_bit_cast(WordsOf<R>, numbers);
}

template <class R>
VERGENCE_HD R numbersOf(WordsOf<R> words)
{
    return __builtin_bit_cast(R, words);
}

template <class R, class T>
VERGENCE_HD WordsOf<R> loadWords(const T* from)
{
    if constexpr (kIsScalar<R>) {
        return *from;
    } else {
#if !defined(__CUDACC__)
        typename VectorsFor<R>::Halves halves;
        if constexpr (sizeof(T) == sizeof(std::uint16_t)) {
            std::memcpy(&halves, from, sizeof(halves));
        } else {
            typename VectorsFor<R>::Bytes bytes;
            std::memcpy(&bytes, from, sizeof(bytes));
            halves = __builtin_convertvector(bytes, typename VectorsFor<R>::Halves);
        }
        return __builtin_convertvector(halves, WordsOf<R>);
#endif
    }
}

template <class R, class T>
VERGENCE_HD void storeWords(T* to, WordsOf<R> words)
{
    if constexpr (kIsScalar<R>) {
        *to = static_cast<T>(words);
    } else {
#if !defined(__CUDACC__)
        const auto halves = __builtin_convertvector(words, typename VectorsFor<R>::Halves);
        if constexpr (sizeof(T) == sizeof(std::uint16_t)) {
            std::memcpy(to, &halves, sizeof(halves));
        } else {
            const auto bytes = __builtin_convertvector(halves, typename VectorsFor<R>::Bytes);
            std::memcpy(to, &bytes, sizeof(bytes));
        }
#endif
    }
}

/// 32 random bits each. Source: Wellons, "Prospecting for hash functions" (2018), lowbias32.
template <class R>
VERGENCE_HD WordsOf<R> randomWords(const Rounding& at)
{
    WordsOf<R> x{};
    if constexpr (kIsScalar<R>) {
        x = static_cast<std::uint32_t>(at.place);
    } else {
        for (std::uint32_t i = 0; i < sizeof(R) / sizeof(float); ++i)
            x[i] = i;
        x += static_cast<std::uint32_t>(at.place);
    }
    x ^= at.key;
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

} // namespace codec

template <class R>
VERGENCE_HD R loadMoment1(const ScalarOf<R>* from)
{
    if constexpr (kIsScalar<R>) {
        return *from;
    } else {
        R moment;
        std::memcpy(&moment, from, sizeof(moment));
        return moment;
    }
}
template <class R>
VERGENCE_HD R loadMoment1(const BFloat16* from)
{
    return codec::numbersOf<R>(codec::loadWords<R>(&from->bits) << 16);
}

template <class R>
VERGENCE_HD void storeMoment1(ScalarOf<R>* to, R moment)
{
    if constexpr (kIsScalar<R>)
        *to = moment;
    else
        std::memcpy(to, &moment, sizeof(moment));
}
/// Finite ones: others may change their kind.
template <class R>
VERGENCE_HD void storeMoment1(BFloat16* to, R moment)
{
    const auto words = codec::wordsOf(moment);
    codec::storeWords<R>(&to->bits, (words + 0x7fffU + ((words >> 16) & 1U)) >> 16);
}

template <class R>
VERGENCE_HD R loadMoment2(const ScalarOf<R>* from)
{
    return loadMoment1<R>(from);
}
template <class R>
VERGENCE_HD R loadMoment2(const BFloat16* from)
{
    const R root = loadMoment1<R>(from);
    return root * root;
}
template <class R>
VERGENCE_HD R loadMoment2(const std::uint8_t* from)
{
    const auto code = codec::loadWords<R>(from);
    const R root = codec::numbersOf<R>((code + kRootOffset) << 20);
    return select(code > 0U, root * root, R{});
}

template <class R>
VERGENCE_HD void storeMoment2(ScalarOf<R>* to, R moment, const Rounding&)
{
    storeMoment1<R>(to, moment);
}
template <class R>
VERGENCE_HD void storeMoment2(BFloat16* to, R moment, const Rounding& at)
{
    const auto root = codec::wordsOf(squareRoot(moment));
    codec::storeWords<R>(&to->bits, (root + (codec::randomWords<R>(at) >> 16)) >> 16);
}
template <class R>
VERGENCE_HD void storeMoment2(std::uint8_t* to, R moment, const Rounding& at)
{
    using Words = WordsOf<R>;
    const auto root = codec::wordsOf(squareRoot(moment));
    const Words low = Words{} + (kRootOffset + 1), high = Words{} + (kRootOffset + 255);
    Words code = (root + (codec::randomWords<R>(at) >> 12)) >> 20;
    code = select(code < low, low, code);
    code = select(code > high, high, code) - kRootOffset;
    codec::storeWords<R>(to, select(root > 0U, code, Words{}));
}

} // namespace vergence::sugar
