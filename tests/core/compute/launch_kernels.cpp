#include "tests/core/compute/launch_kernels.h"

#include "core/compute/launch.h"
#include "core/compute/rng.h"

namespace vergence::test {
inline namespace VERGENCE_KERNEL_NAMESPACE {

struct ScaleAndAdd {
    View<const float, 1> in;
    View<float, 1> out;
    VERGENCE_HD void operator()(Index i) const { out[i] = 3 * in[i] + static_cast<float>(i); }
};

void scaleAndAddBody(Stream& stream, const Tensor& in, Tensor& out)
{
    expectSameShape(in, out);
    forEach(stream, in.size(), ScaleAndAdd{in.view<const float, 1>(), out.view<float, 1>()}, 16);
}

struct Transpose {
    View<const float, 2> in;
    View<float, 2> out;
    VERGENCE_HD void operator()(Index i) const
    {
        const Index y = i / out.extent(1), x = i % out.extent(1);
        out(y, x) = in(x, y);
    }
};

void transposeBody(Stream& stream, const Tensor& in, Tensor& out)
{
    forEach(stream, in.size(), Transpose{in.view<const float, 2>(), out.view<float, 2>()}, 16);
}

struct RandomWords {
    Rng rng;
    View<std::int32_t, 1> out;
    VERGENCE_HD void operator()(Index i) const
    {
        out[i] = static_cast<std::int32_t>(rng.bits(static_cast<std::uint64_t>(i)));
    }
};

void randomWordsBody(Stream& stream, std::uint64_t seed, std::uint64_t which, Tensor& out)
{
    forEach(stream, out.size(), RandomWords{Rng(seed, which), out.view<std::int32_t, 1>()}, 16);
}

struct ReadDouble {
    View<const float, 1> in;
    VERGENCE_HD double operator()(Index i) const { return static_cast<double>(in[i]); }
};

void sumBody(Stream& stream, const Tensor& in, double& out)
{
    out = reduceSum(stream, in.size(), ReadDouble{in.flat<const float>()});
}

struct ReadFloat {
    View<const float, 1> in;
    VERGENCE_HD float operator()(Index i) const { return in[i]; }
};

struct Larger {
    VERGENCE_HD float operator()(float a, float b) const { return a > b ? a : b; }
};

void largestBody(Stream& stream, const Tensor& in, Tensor& out)
{
    reduceInto(stream, in.size(), ReadFloat{in.flat<const float>()}, Larger{}, -1e30f,
               static_cast<float*>(out.data()));
}

VERGENCE_REGISTER_KERNEL(scaleAndAdd, scaleAndAddBody)
VERGENCE_REGISTER_KERNEL(transpose, transposeBody)
VERGENCE_REGISTER_KERNEL(randomWords, randomWordsBody)
VERGENCE_REGISTER_KERNEL(sum, sumBody)
VERGENCE_REGISTER_KERNEL(largest, largestBody)

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence::test
