#include "plugins/sugar/compute/learning/adam_kernels.h"

#include <algorithm>

#include "core/compute/launch.h"

#if defined(__CUDACC__)
#include "plugins/sugar/compute/learning/adam_tiles.cuh"
#endif

namespace vergence::sugar {

namespace {

#if !defined(__CUDACC__)

constexpr Index kBlock = 128;
constexpr Index kTail = 16; ///< numbers of the widest vectors

/// Neighbouring rows: those that take part together are one run of numbers in each group.
struct AdamBlock {
    AdamArguments p;

    void operator()(Index block) const
    {
        const Index last = std::min((block + 1) * kBlock, p.rows);
        unsigned long long skipped = 0;
        for (Index begin = block * kBlock; begin < last;) {
            Index end = begin;
            while (end < last && (!p.visible || p.visible[end]))
                ++end;
            skipped += updateFinite(begin, end);
            begin = end + 1;
        }
        if (skipped)
            __atomic_fetch_add(p.skipped, skipped, __ATOMIC_RELAXED); // whole numbers: no order
    }

private:
    /// Updates rows [begin, end) but for those with a gradient that is not finite, which are found
    /// by halving; returns how many.
    unsigned long long updateFinite(Index begin, Index end) const
    {
        if (begin == end)
            return 0;
        if (areFinite(begin, end - begin)) {
            update(begin, end - begin);
            return 0;
        }
        if (end - begin == 1)
            return 1;
        const Index middle = (begin + end) / 2;
        return updateFinite(begin, middle) + updateFinite(middle, end);
    }

    bool areFinite(Index first, Index count) const
    {
        float sum = 0;
        for (const AdamColumns& at : p.group)
            sum += sumOfZeros(at.gradient + first * at.width, count * at.width);
        return sum == 0.0F;
    }

    /// notFinite() in lanes, so that it vectorises.
    static float sumOfZeros(const float* gradient, Index n)
    {
        constexpr Index kLanes = 32;
        float lanes[kLanes] = {};
        Index i = 0;
        for (; i + kLanes <= n; i += kLanes) {
            for (Index lane = 0; lane < kLanes; ++lane)
                lanes[lane] += gradient[i + lane] * 0.0F;
        }
        float sum = notFinite(static_cast<int>(n - i), gradient + i);
        if (i > 0)
            sum += notFinite(kLanes, lanes);
        return sum;
    }

    void update(Index first, Index count) const
    {
        for (int group = 0; group < kAdamGroups; ++group) {
            const AdamColumns& at = p.group[group];
            const Index n = first * at.width;
            if (at.width > 0)
                withMoments(p.compactMoments, group, at.moment1, at.moment2,
                            [&](auto* moment1, auto* moment2) {
                                updateRun(p.factors, group, n, count * at.width, at.gradient + n,
                                          moment1 + n, moment2 + n, at.value + n);
                            });
        }
    }

    /// `n` numbers from `place` of the group's arrays on. The last few are updated in a copy, so
    /// that all are updated in vectors.
    template <class First, class Second>
    static void updateRun(const AdamFactors<float>& factors, int group, Index place, Index n,
                          const float* gradient, First* moment1, Second* moment2, float* value)
    {
        const Index whole = n / kTail * kTail, left = n - whole;
        updateWhole(factors, group, place, whole, gradient, moment1, moment2, value);
        if (left == 0)
            return;
        float g[kTail] = {}, next[kTail] = {};
        First m[kTail] = {};
        Second v[kTail] = {};
        std::copy_n(gradient + whole, left, g);
        std::copy_n(moment1 + whole, left, m);
        std::copy_n(moment2 + whole, left, v);
        std::copy_n(value + whole, left, next);
        updateWhole(factors, group, place + whole, kTail, g, m, v, next);
        std::copy_n(m, left, moment1 + whole);
        std::copy_n(v, left, moment2 + whole);
        std::copy_n(next, left, value + whole);
    }

    /// A multiple of kTail numbers.
    template <class First, class Second>
    static void updateWhole(const AdamFactors<float>& given, int group, Index place, Index n,
                            const float* gradient, First* moment1, Second* moment2, float* value)
    {
        const AdamFactors<float> factors = given; // a copy that no array can alias
        const AdamRange<float> range = adamRange(factors, group);
        const float stepSize = factors.stepSize[group];
#pragma GCC ivdep
        for (Index i = 0; i < n / kTail * kTail; ++i) {
            float m = loadMoment1<float>(moment1 + i), v = loadMoment2<float>(moment2 + i),
                  next = value[i];
            adamElement(factors, stepSize, gradient[i], m, v, next);
            storeMoment1(moment1 + i, m);
            storeMoment2(moment2 + i, v, roundingOf(factors, group, place + i));
            value[i] = clampedTo(range, next);
        }
    }
};

void adamRowsBody(Stream& stream, const AdamArguments& p)
{
    forEach(stream, (p.rows + kBlock - 1) / kBlock, AdamBlock{p}, 4);
}

#endif

struct NormaliseRow {
    NormaliseArguments p;

    VERGENCE_HD void operator()(Index row) const
    {
        float* q = p.rotation + 4 * row;
        const float norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        const bool isUsable = norm > 0 && norm < HUGE_VALF;
        for (int i = 0; i < 4; ++i)
            q[i] = isUsable ? q[i] / norm : static_cast<float>(i == 0);
    }
};

void normaliseRowsBody(Stream& stream, const NormaliseArguments& p)
{
    forEach(stream, p.rows, NormaliseRow{p}, 4096);
}

} // namespace

VERGENCE_REGISTER_KERNEL(adamRows, adamRowsBody)
VERGENCE_REGISTER_KERNEL(normaliseRows, normaliseRowsBody)

} // namespace vergence::sugar
