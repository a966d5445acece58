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
        alignas(64) Real kept[kWordBatch];
        for (int i = 0; i < kWordBatch; ++i)
            kept[i] = words[i] >= threshold ? factor : Real(0);
        const Index first = batch * kWordBatch;
        if (first + kWordBatch <= count) {
            constexpr int N = kPackSize<T> < kWordBatch ? kPackSize<T> : kWordBatch;
            for (int i = 0; i < kWordBatch; i += N) {
                const Lanes<N, true> at{first + i, N};
                // Dropped numbers are 0 even where x is not finite.
                const auto mask = loadAs<Real>(kept, Lanes<N, true>{i, N});
                store(y, at, select(mask > Real(0), load(x, at) * mask, mask));
            }
        } else {
            for (Index i = first; i < count; ++i) {
                const Real mask = kept[i - first];
                y[i] = static_cast<T>(mask > Real(0) ? static_cast<Real>(x[i]) * mask : mask);
            }
        }
    }
};

/// u in (0, 1) of a word. Source: spec of the random numbers, u = (v + ½) / 2³².
template <class Real>
VERGENCE_HD Real openUniform(std::uint32_t word)
{
    return (static_cast<Real>(word) + Real(0.5)) * Real(2.3283064365386963e-10);
}

/// Numbers 2 pair and 2 pair + 1 of a normal sequence. Source: A Note on the Generation of Random
/// Normal Deviates (1958).
template <class Real>
struct NormalPair {
    Real first, second;

    VERGENCE_HD NormalPair(std::uint32_t a, std::uint32_t b)
    {
        if constexpr (std::is_same_v<Real, float>) {
            // Polynomials also on CUDA, so that devices agree.
            const float radius =
                squareRoot(-2.0f * fast::polynomialLogarithm(openUniform<float>(a)));
            const TurnsSineCosine angle = sineCosineOfTurns(openUniform<float>(b));
            first = radius * angle.cosine;
            second = radius * angle.sine;
        } else {
            const Real radius = std::sqrt(Real(-2) * std::log(openUniform<Real>(a)));
            const Real angle = Real(6.283185307179586477) * openUniform<Real>(b);
            first = radius * std::cos(angle);
            second = radius * std::sin(angle);
        }
    }
};

/// One block of four words, four numbers.
template <class T>
struct FillNormal {
    T* y;
    Index count;
    std::uint64_t seed, streamId;
    Accumulator<T> mean, deviation;

    VERGENCE_HD void operator()(Index block) const
    {
        using Real = Accumulator<T>;
        const PhiloxBlock words = philox(seed, streamId, static_cast<std::uint64_t>(block));
        for (int pair = 0; pair < 2; ++pair) {
            const NormalPair<Real> normal(words.word[2 * pair], words.word[2 * pair + 1]);
            const Index i = 4 * block + 2 * pair;
            if (i < count)
                y[i] = static_cast<T>(mean + deviation * normal.first);
            if (i + 1 < count)
                y[i + 1] = static_cast<T>(mean + deviation * normal.second);
        }
    }
};

template <class T>
struct FillUniform {
    T* y;
    Index count;
    std::uint64_t seed, streamId;
    Accumulator<T> low, width;
    T below;

    VERGENCE_HD void operator()(Index block) const
    {
        using Real = Accumulator<T>;
        const PhiloxBlock words = philox(seed, streamId, static_cast<std::uint64_t>(block));
        for (int k = 0; k < 4 && 4 * block + k < count; ++k) {
            const Real u = std::is_same_v<Real, float>
                               ? static_cast<Real>(words.word[k] >> 8) * Real(1.0 / 16777216)
                               : static_cast<Real>(words.word[k]) * Real(1.0 / 4294967296);
            const T value = static_cast<T>(low + width * u);
            // Rounding may reach the upper end, which does not belong to the range.
            y[4 * block + k] = static_cast<Real>(value) > static_cast<Real>(below) ? below : value;
        }
    }
};

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
        forEach(stream, (a.count + 3) / 4,
                FillNormal<T>{static_cast<T*>(a.y), a.count, a.seed, a.streamId,
                              static_cast<Real>(a.offset), static_cast<Real>(a.factor)},
                kElementGrain / 16);
    });
}

void fillUniformBody(Stream& stream, const RandomFillArguments& a)
{
    withFloatType(a.type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        using Real = Accumulator<T>;
        forEach(stream, (a.count + 3) / 4,
                FillUniform<T>{static_cast<T*>(a.y), a.count, a.seed, a.streamId,
                               static_cast<Real>(a.offset), static_cast<Real>(a.factor),
                               static_cast<T>(static_cast<Real>(a.below))},
                kElementGrain / 16);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(dropoutKernel, dropoutBody)
VERGENCE_REGISTER_KERNEL(fillNormalKernel, fillNormalBody)
VERGENCE_REGISTER_KERNEL(fillUniformKernel, fillUniformBody)

} // namespace vergence
