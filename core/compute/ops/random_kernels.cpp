#include "core/compute/ops/fast_math.h"
#include "core/compute/ops/random_kernels.h"

#include "core/compute/ops/random_words.h"

namespace vergence {

namespace {

/// One batch of words and the numbers that they decide.
template <class T>
struct Dropout {
    const T* x;
    T* y;
    Index count;
    std::uint32_t threshold;
    Accumulator<T> factor;
    const std::int64_t* seedAndStep;
    std::uint32_t purpose;

    VERGENCE_HD void operator()(Index batch) const
    {
        using Real = Accumulator<T>;
        const auto seed = static_cast<std::uint64_t>(seedAndStep[0]);
        const auto stream = (static_cast<std::uint64_t>(seedAndStep[1]) << 32) + purpose;
        alignas(64) std::uint32_t words[kWordBatch];
        philoxWords(seed, stream, static_cast<std::uint64_t>(batch) * (kWordBatch / 4), words);
        const Index first = batch * kWordBatch;
        if (first + kWordBatch <= count) {
            constexpr int N = kPackSize<T> < kWordBatch ? kPackSize<T> : kWordBatch;
            for (int i = 0; i < kWordBatch; i += N) {
                // Dropped numbers are 0 even where x is not finite.
                const Lanes<N, true> at{first + i, N};
                store(y, at, keptWhere(words + i, threshold, load(x, at) * factor));
            }
        } else {
            for (Index i = first; i < count; ++i) {
                const bool isKept = words[i - first] >= threshold;
                y[i] = static_cast<T>(isKept ? static_cast<Real>(x[i]) * factor : Real(0));
            }
        }
    }
};

/// Two numbers of a normal sequence from u, v in (0, 1]. Source: A Note on the Generation of Random
/// Normal Deviates (1958). In float polynomials also on CUDA, so that devices agree.
template <class R>
struct NormalPair {
    R first, second;

    VERGENCE_HD NormalPair(R u, R v)
    {
        using S = ScalarOf<R>;
        if constexpr (std::is_same_v<S, float>) {
            const R radius = squareRoot(-2.0f * fast::polynomialLogarithm(u));
            const TurnsSineCosine<R> angle = sineCosineOfTurns(v);
            first = radius * angle.cosine;
            second = radius * angle.sine;
        } else {
            const R radius = std::sqrt(S(-2) * std::log(u)), angle = S(6.283185307179586477) * v;
            first = radius * std::cos(angle);
            second = radius * std::sin(angle);
        }
    }
};

/// Constants of one call; numbers come four by four from the blocks of (seed, streamId).
template <class T>
struct Normal {
    using Real = Accumulator<T>;
    Real mean, deviation;

    /// Numbers of the four words (0, 1, 2, 3), each in [0, 2³²).
    template <class R>
    VERGENCE_HD void apply(R (&word)[4]) const
    {
        for (int pair = 0; pair < 4; pair += 2) {
            const Real half = Real(0.5), unit = Real(2.3283064365386963e-10);
            const NormalPair<R> numbers((word[pair] + half) * unit, (word[pair + 1] + half) * unit);
            word[pair] = mean + deviation * numbers.first;
            word[pair + 1] = mean + deviation * numbers.second;
        }
    }
    static constexpr int kShift = 0; ///< low bits of a word that are not used
};

template <class T>
struct Uniform {
    using Real = Accumulator<T>;
    Real low, width, below; ///< rounding may reach the upper end, which does not belong

    template <class R>
    VERGENCE_HD void apply(R (&word)[4]) const
    {
        const Real unit = kShift > 0 ? Real(1.0 / 16777216) : Real(1.0 / 4294967296);
        for (R& number : word)
            number = atMost(low + width * (number * unit), below);
    }
    static constexpr int kShift = std::is_same_v<Real, float> ? 8 : 0;
};

/// One item: one block of four numbers, or on the CPU for float a vector of blocks.
template <class T, class Rule>
struct FillRandom {
    using Real = Accumulator<T>;
    T* y;
    Index count;
    std::uint64_t seed, streamId;
    Rule rule;

#if defined(__CUDACC__)
    static constexpr Index kPerItem = 4;
#else
    static constexpr Index kPerItem = std::is_same_v<Real, float> ? kWordBatch : 4;
#endif

    VERGENCE_HD void operator()(Index item) const
    {
        const Index first = item * kPerItem;
#if !defined(__CUDACC__)
        if constexpr (kPerItem > 4)
            return vectors(first);
#endif
        const PhiloxBlock words = philox(seed, streamId, static_cast<std::uint64_t>(item));
        Real number[4];
        for (int k = 0; k < 4; ++k)
            number[k] = static_cast<Real>(words.word[k] >> Rule::kShift);
        rule.apply(number);
        for (int k = 0; k < 4 && first + k < count; ++k)
            y[first + k] = static_cast<T>(number[k]);
    }

private:
#if !defined(__CUDACC__)
    VERGENCE_HD void vectors(Index first) const
    {
        constexpr int N = philoxes::kWords;
        philoxes::Words word[4];
        philoxes::blocks(seed, streamId, static_cast<std::uint64_t>(first / 4), word);
        Pack<Real, N> number[4];
        for (int k = 0; k < 4; ++k)
            number[k] = __builtin_convertvector(word[k] >> Rule::kShift, Pack<Real, N>);
        rule.apply(number);
        philoxes::inOrder(number);
        for (int k = 0; k < 4; ++k) {
            const Index at = first + k * N;
            if (at + N <= count)
                store(y, Lanes<N, true>{at, N}, number[k]);
            else if (at < count)
                store(y, Lanes<N, false>{at, static_cast<int>(count - at)}, number[k]);
        }
    }
#endif
};

template <class T, class Rule>
void fillRandom(Stream& stream, const RandomFillArguments& a, const Rule& rule)
{
    using Fill = FillRandom<T, Rule>;
    forEach(stream, (a.count + Fill::kPerItem - 1) / Fill::kPerItem,
            Fill{static_cast<T*>(a.y), a.count, a.seed, a.streamId, rule},
            kElementGrain / (4 * Fill::kPerItem) + 1);
}

void dropoutBody(Stream& stream, const DropoutArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        forEach(stream, (a.count + kWordBatch - 1) / kWordBatch,
                Dropout<T>{static_cast<const T*>(a.x), static_cast<T*>(a.y), a.count, a.threshold,
                           static_cast<Accumulator<T>>(a.factor), a.seedAndStep, a.purpose},
                kElementGrain / kWordBatch);
    });
}

void fillNormalBody(Stream& stream, const RandomFillArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        fillRandom<T>(stream, a,
                      Normal<T>{static_cast<Real>(a.offset), static_cast<Real>(a.factor)});
    });
}

void fillUniformBody(Stream& stream, const RandomFillArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        fillRandom<T>(stream, a,
                      Uniform<T>{static_cast<Real>(a.offset), static_cast<Real>(a.factor),
                                 static_cast<Real>(a.below)});
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(dropoutKernel, dropoutBody)
VERGENCE_REGISTER_KERNEL(fillNormalKernel, fillNormalBody)
VERGENCE_REGISTER_KERNEL(fillUniformKernel, fillUniformBody)

} // namespace vergence
