#include "tests/core/compute/ops/fast_math_kernels.h"

#include "core/compute/ops/fast_math.h"
#include "core/compute/ops/loops.h"

namespace vergence::test {

namespace {

template <Function function>
struct Apply {
    const float* x;
    float* y;

    template <class At>
    VERGENCE_HD void operator()(At at) const
    {
        const auto v = load(x, at);
        if constexpr (function == Function::Exponential)
            store(y, at, exponential(v));
        else if constexpr (function == Function::ErrorFunction)
            store(y, at, errorFunction(v));
        else if constexpr (function == Function::HyperbolicTangent)
            store(y, at, hyperbolicTangent(v));
        else if constexpr (function == Function::NormalTail)
            store(y, at, normalTail(v));
        else
            store(y, at, logarithm(v));
    }
};

struct SineCosine {
    const float* x;
    float* out;
    VERGENCE_HD void operator()(Index i) const
    {
        const TurnsSineCosine<float> value = sineCosineOfTurns(x[i]);
        out[2 * i] = value.sine;
        out[2 * i + 1] = value.cosine;
    }
};

void applyBody(Stream& stream, Function function, const float* x, float* y, Index count)
{
    switch (function) {
    case Function::Exponential:
        return forEachPack<float>(stream, count, Apply<Function::Exponential>{x, y});
    case Function::ErrorFunction:
        return forEachPack<float>(stream, count, Apply<Function::ErrorFunction>{x, y});
    case Function::HyperbolicTangent:
        return forEachPack<float>(stream, count, Apply<Function::HyperbolicTangent>{x, y});
    case Function::Logarithm:
        return forEachPack<float>(stream, count, Apply<Function::Logarithm>{x, y});
    case Function::NormalTail:
        return forEachPack<float>(stream, count, Apply<Function::NormalTail>{x, y});
    }
}

void sineCosineBody(Stream& stream, const float* x, float* out, Index count)
{
    forEach(stream, count, SineCosine{x, out});
}

} // namespace

VERGENCE_REGISTER_KERNEL(applyFunction, applyBody)
VERGENCE_REGISTER_KERNEL(sineCosine, sineCosineBody)

} // namespace vergence::test
