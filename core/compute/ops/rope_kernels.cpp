#include "core/compute/ops/rope_kernels.h"

#include "core/compute/launch.h"
#include "core/compute/ops/attention_types.h"
#include "core/compute/ops/rope_math.h"

namespace vergence {

namespace {

#if defined(__CUDACC__)
constexpr Index kPairsPerItem = 1; // neighbouring threads read neighbouring numbers
#else
constexpr Index kPairsPerItem = kMostRopePairs;
#endif

/// Some pairs of all heads at one place: angles are computed once for all heads.
template <class T>
struct Rotate {
    RopeProblem problem;

    VERGENCE_HD void operator()(Index item) const
    {
        using Real = Accumulator<T>;
        const RopeProblem& p = problem;
        const Index pieces = (p.pairs + kPairsPerItem - 1) / kPairsPerItem;
        const Index place = item / pieces, s = place % p.length, b = place / p.length;
        const Index begin = item % pieces * kPairsPerItem, left = p.pairs - begin;
        const Index count = left < kPairsPerItem ? left : kPairsPerItem;
        const double position =
            static_cast<double>(p.positions ? p.positions[b * p.positionBatch + s] : p.first + s);
        Real cosine[kPairsPerItem], sine[kPairsPerItem];
        for (Index j = 0; j < count; ++j) {
            const Rotation<Real> r = rotationBy<Real>(position * p.frequency[begin + j]);
            cosine[j] = r.cosine;
            sine[j] = r.sine;
        }
        for (Index h = 0; h < p.heads; ++h) {
            const T* x = static_cast<const T*>(p.x) + b * p.xBatch + s * p.xRow + h * p.xHead;
            T* y = static_cast<T*>(p.y) + b * p.yBatch + s * p.yRow + h * p.yHead;
            turn(x + begin, y + begin, count, cosine, sine);
        }
    }

private:
    VERGENCE_HD void turn(const T* x, T* y, Index count, const Accumulator<T>* cosine,
                          const Accumulator<T>* sine) const
    {
        using Real = Accumulator<T>;
        const Index half = problem.pairs;
#if !defined(__CUDACC__)
#pragma GCC ivdep
#endif
        for (Index j = 0; j < count; ++j) {
            const Real a = static_cast<Real>(x[j]), b = static_cast<Real>(x[j + half]);
            y[j] = static_cast<T>(a * cosine[j] - b * sine[j]);
            y[j + half] = static_cast<T>(b * cosine[j] + a * sine[j]);
        }
    }
};

void ropeBody(Stream& stream, const RopeProblem& p)
{
    const Index pieces = (p.pairs + kPairsPerItem - 1) / kPairsPerItem;
    withElementType(p.type, [&](auto element) {
        forEach(stream, p.batches * p.length * pieces, Rotate<decltype(element)>{p}, 16);
    });
}

} // namespace

VERGENCE_REGISTER_KERNEL(ropeKernel, ropeBody)

} // namespace vergence
