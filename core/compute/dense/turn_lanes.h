#pragma once

// For kernel files of the CPU: a square of numbers in registers is turned.

#include <utility>

#include "core/compute/ops/pack.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// The lower or upper halves of a and b, number by number in turn.
template <bool upper, class P, std::size_t... I>
VERGENCE_HD P interleave(P a, P b, std::index_sequence<I...>)
{
    constexpr int kLanes = sizeof...(I);
    constexpr int kFirst = upper ? kLanes / 2 : 0;
    return __builtin_shufflevector(a, b,
                                   (kFirst + static_cast<int>(I) / 2 + (I % 2 ? kLanes : 0))...);
}

/// Number j of row i changes places with number i of row j. Each round interleaves row i with row
/// i + N / 2.
template <class P, int N>
VERGENCE_HD void turnLanes(P (&rows)[N])
{
    constexpr std::make_index_sequence<N> kAll;
    P next[N];
#pragma GCC unroll 4
    for (int round = N; round > 1; round /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < N / 2; ++i) {
            next[2 * i] = interleave<false>(rows[i], rows[i + N / 2], kAll);
            next[2 * i + 1] = interleave<true>(rows[i], rows[i + N / 2], kAll);
        }
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i)
            rows[i] = next[i];
    }
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
