#pragma once

#include "core/compute/launch.h"

namespace vergence::sugar {

namespace {

/// The rows of several arrays that one block of `Rows` threads works on. Rows are short and lie one
/// after the other, so neighbouring threads take neighbouring numbers instead of a row each.
template <Index Rows>
struct RowBlock {
    Index first; ///< row
    int rows;    ///< Rows, fewer in the last block

    __device__ explicit RowBlock(Index count)
        : first(static_cast<Index>(blockIdx.x) * Rows),
          rows(static_cast<int>(count - first < Rows ? count - first : Rows))
    {
    }

    /// Calls visit(row within the block, column, place in the array) for all numbers of the block
    /// in an array with `width` columns.
    template <class Visit>
    __device__ void eachNumber(int width, const Visit& visit) const
    {
        for (int at = static_cast<int>(threadIdx.x); at < rows * width; at += Rows)
            visit(at / width, at % width, first * width + at);
    }
};

} // namespace

} // namespace vergence::sugar
