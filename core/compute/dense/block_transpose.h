#pragma once

// For kernel files: the CPU's builds alone.

#if !defined(__CUDACC__)

#include <utility>

#include "core/compute/ops/pack.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

/// Rows and columns of a block: words of 32 bits in one register.
inline constexpr int kBlock = kPackSize<float>;
using BlockRow = Pack<float, kBlock>;

/// The lower or upper halves of a and b, word by word in turn.
template <bool upper, std::size_t... I>
VERGENCE_HD BlockRow interleave(BlockRow a, BlockRow b, std::index_sequence<I...>)
{
    constexpr int kFirst = upper ? kBlock / 2 : 0;
    return __builtin_shufflevector(a, b,
                                   (kFirst + static_cast<int>(I) / 2 + (I % 2 ? kBlock : 0))...);
}

/// Turns kBlock × kBlock words in registers: put(i, column i) of the rows get(i). Each round
/// interleaves row i with row i + kBlock / 2.
template <class Get, class Put>
VERGENCE_HD void transposeBlock(const Get& get, const Put& put)
{
    constexpr std::make_index_sequence<kBlock> kAll;
    BlockRow row[kBlock], next[kBlock];
#pragma GCC unroll 16
    for (int i = 0; i < kBlock; ++i)
        row[i] = get(i);
#pragma GCC unroll 4
    for (int round = kBlock; round > 1; round /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < kBlock / 2; ++i) {
            next[2 * i] = interleave<false>(row[i], row[i + kBlock / 2], kAll);
            next[2 * i + 1] = interleave<true>(row[i], row[i + kBlock / 2], kAll);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kBlock; ++i)
            row[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kBlock; ++i)
        put(i, row[i]);
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence

#endif
