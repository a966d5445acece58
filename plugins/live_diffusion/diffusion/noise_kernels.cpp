#include "core/compute/ops/fast_math.h"
#include "core/compute/ops/random_words.h"

#include "core/compute/launch.h"
#include "plugins/live_diffusion/diffusion/noise.h"

namespace vergence::live {

namespace {

constexpr float kUnit = 2.3283064365386963e-10f; // 2⁻³²

/// Words 0 … 3 of a block (or of many) become normal numbers.
/// Source: A Note on the Generation of Random Normal Deviates (1958).
template <class R>
VERGENCE_HD void normalsOf(R (&word)[4])
{
    for (int pair = 0; pair < 4; pair += 2) {
        const R u = (word[pair] + 0.5f) * kUnit, v = (word[pair + 1] + 0.5f) * kUnit;
        const R radius = squareRoot(-2.0f * fast::polynomialLogarithm(u));
        const TurnsSineCosine<R> angle = sineCosineOfTurns(v);
        word[pair] = radius * angle.cosine;
        word[pair + 1] = radius * angle.sine;
    }
}

/// One item: one block of four numbers; on the CPU a vector of blocks.
struct FillNormals {
    NormalFill fill;
#if defined(__CUDACC__)
    static constexpr Index kPerItem = 4;
#else
    static constexpr Index kPerItem = kWordBatch;
#endif

    VERGENCE_HD void operator()(Index item) const
    {
        const Index at = item * kPerItem;
        const std::uint64_t key = fill.live ? fill.live->key : fill.key;
        const std::uint32_t frame = fill.live ? fill.live->frame : fill.frame;
        const std::uint64_t block = (static_cast<std::uint64_t>(frame) << 32) +
                                    static_cast<std::uint64_t>(fill.first / 4 + at / 4);
        float numbers[kPerItem];
#if defined(__CUDACC__)
        const PhiloxBlock words = philox(key, fill.purpose, block);
        for (int k = 0; k < 4; ++k)
            numbers[k] = static_cast<float>(words.word[k]);
        normalsOf(numbers);
#else
        philoxes::Words word[4];
        philoxes::blocks(key, fill.purpose, block, word);
        Pack<float, philoxes::kWords> number[4];
        for (int k = 0; k < 4; ++k)
            number[k] = __builtin_convertvector(word[k], Pack<float, philoxes::kWords>);
        normalsOf(number);
        philoxes::inOrder(number);
        std::memcpy(numbers, number, sizeof(numbers));
#endif
        const Index count = fill.count - at < kPerItem ? fill.count - at : kPerItem;
        for (Index k = 0; k < count; ++k)
            fill.y[at + k] = numbers[k];
    }
};

void fillNormalsBody(Stream& stream, const NormalFill& fill)
{
    constexpr Index kPerItem = FillNormals::kPerItem;
    forEach(stream, (fill.count + kPerItem - 1) / kPerItem, FillNormals{fill}, 4096 / kPerItem);
}

} // namespace

VERGENCE_REGISTER_KERNEL(fillNormalsKernel, fillNormalsBody)

} // namespace vergence::live
