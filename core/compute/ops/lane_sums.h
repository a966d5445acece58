#pragma once

// For kernel files: sums and maxima over the numbers that one thread sees as packs.

#include <cmath>

#include "core/compute/ops/pack.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

#if !defined(__CUDACC__)
namespace packs {

template <class P, class Int, Int... I>
VERGENCE_HD P countUp(std::integer_sequence<Int, I...>)
{
    return P{I...};
}

/// Which lanes of a pack P belong to a part of `count` numbers.
template <class P>
VERGENCE_HD BitsOf<P> isWithin(int count)
{
    using Scalar = std::remove_cvref_t<decltype(std::declval<BitsOf<P>&>()[0])>;
    constexpr int N = sizeof(P) / sizeof(ScalarOf<P>);
    return countUp<BitsOf<P>>(std::make_integer_sequence<Scalar, N>{}) < static_cast<Scalar>(count);
}

} // namespace packs
#endif

/// Sums packs, in `Slots` chains that run side by side.
template <class T, int Slots = 4>
struct LaneSum {
    PackFor<T> chain[Slots] = {};

    template <class At>
    VERGENCE_HD void add(At at, const PackFor<T>& value)
    {
        if constexpr (At::kWhole) {
            chain[At::kSlot % Slots] += value;
        } else {
#if defined(__CUDACC__)
            for (int i = 0; i < At::kSize; ++i)
                chain[0][i] += i < at.count ? value[i] : Accumulator<T>(0);
#else
            const auto isThere = packs::isWithin<PackFor<T>>(at.count);
            chain[0] += select(isThere, value, PackFor<T>{});
#endif
        }
    }
    /// Over the lanes of this thread.
    VERGENCE_HD Accumulator<T> ofThread() const
    {
        Accumulator<T> lane[kPackSize<T>];
        for (int i = 0; i < kPackSize<T>; ++i) {
            lane[i] = chain[0][i];
            for (int s = 1; s < Slots; ++s)
                lane[i] += chain[s][i];
        }
        for (int step = kPackSize<T> / 2; step > 0; step /= 2) {
            for (int i = 0; i < step; ++i)
                lane[i] += lane[i + step];
        }
        return lane[0];
    }
};

/// The largest of all numbers; passes over NaN.
template <class T>
struct LaneMaximum {
    using Real = Accumulator<T>;
    PackFor<T> most = spread<PackFor<T>>(-Real(HUGE_VAL));

    template <class At>
    VERGENCE_HD void add(At at, const PackFor<T>& value)
    {
        if constexpr (At::kWhole) {
            most = select(value > most, value, most);
        } else {
#if defined(__CUDACC__)
            for (int i = 0; i < At::kSize; ++i)
                most[i] = i < at.count && value[i] > most[i] ? value[i] : most[i];
#else
            const auto isThere = packs::isWithin<PackFor<T>>(at.count);
            most = select(isThere & (value > most), value, most);
#endif
        }
    }
    VERGENCE_HD Real ofThread() const
    {
        Real result = most[0];
        for (int i = 1; i < kPackSize<T>; ++i)
            result = most[i] > result ? most[i] : result;
        return result;
    }
};

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
