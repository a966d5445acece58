#pragma once

// For kernel files. Loops for sums down the columns of many rows. A body is written once: it takes
// the packs of a row with each, the rows with down, and what it summed with total. On the CPU one
// thread does all of it; on CUDA a block has a few packs of each row, so that its loads fill lines
// of the cache, and cuts the rows among its threads.

#include "core/compute/ops/loops.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {

#if defined(__CUDACC__)

/// Threads of a block: kAcross packs side by side, kDown threads on the rows of each.
struct ColumnTeam {
    static constexpr int kThreads = 256, kAcross = 8, kDown = kThreads / kAcross;
    static constexpr int kSharedDoubles = kThreads / 32 * kAcross * 4; ///< packs of the warps

    int thread;
    Index tile;     ///< of kAcross packs
    double* shared; ///< kSharedDoubles entries of the block

    /// body(at) for the packs of this thread. All threads of a block take the same branch, as
    /// they meet in total: those beyond the last column have packs of no number.
    template <class T, class Body>
    VERGENCE_HD void each(Index columns, const Body& body) const
    {
        constexpr int N = kPackSize<T>;
        const Index start = tile * (kAcross * N), first = start + thread % kAcross * N;
        const Index left = columns - first;
        if (start >= columns)
            return;
        if (start + kAcross * N <= columns)
            body(Lanes<N, true>{first, N});
        else
            body(Lanes<N, false>{first, left < 0 ? 0 : left < N ? static_cast<int>(left) : N});
    }

    /// body(row) for the rows [first, last) of this thread.
    template <class Body>
    VERGENCE_HD void down(Index first, Index last, const Body& body) const
    {
        for (Index row = first + thread / kAcross; row < last; row += kDown)
            body(row);
    }

    /// Sum of what the threads of one column have, in a fixed order.
    template <class Real, int N>
    VERGENCE_HD ThreadPack<Real, N> total(ThreadPack<Real, N> sum) const
    {
#if defined(__CUDA_ARCH__)
        static_assert(sizeof(sum) <= 4 * sizeof(double), "a pack must find room in `shared`");
        for (int i = 0; i < N; ++i) {
            for (int step = kAcross; step < 32; step *= 2)
                sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], step);
        }
        auto* ofWarps = reinterpret_cast<ThreadPack<Real, N>*>(shared);
        const int column = thread % kAcross;
        __syncthreads(); // the slots may still be read from the last call
        if (thread % 32 < kAcross)
            ofWarps[thread / 32 * kAcross + column] = sum;
        __syncthreads();
        sum = ofWarps[column];
        for (int warp = 1; warp < kThreads / 32; ++warp)
            sum += ofWarps[warp * kAcross + column];
#endif
        return sum;
    }
    VERGENCE_HD bool isFirst() const
    {
        return thread < kAcross;
    }
};

namespace loops {

template <class Body>
__global__ void forEachColumnTile(Index items, Index tiles, Body body)
{
    __shared__ double shared[ColumnTeam::kSharedDoubles];
    for (Index item = blockIdx.x; item < items; item += gridDim.x)
        body(ColumnTeam{static_cast<int>(threadIdx.x), item % tiles, shared}, item / tiles);
}

} // namespace loops

#else

/// The one thread that works on all columns.
struct ColumnTeam : Team {
    template <class Body>
    VERGENCE_HD void down(Index first, Index last, const Body& body) const
    {
        for (Index row = first; row < last; ++row)
            body(row);
    }
    template <class P>
    VERGENCE_HD P total(const P& sum) const
    {
        return sum;
    }
};

#endif

/// How rows are cut for sums down their columns; a function of the shape alone. On CUDA fewer and
/// longer chunks than those of whole rows, as the columns are cut as well.
struct ColumnChunks : RowChunks {
    ColumnChunks(Index rowCount, Index columns) : RowChunks(rowCount, columns)
    {
#if defined(__CUDACC__)
        const Index most = columns < 64 ? 512 : columns < 1024 ? 32768 / columns : 32;
        const Index least = ColumnTeam::kDown * 4;
        perChunk = (rows + most - 1) / most;
        perChunk = perChunk > least ? perChunk : least;
        count = (rows + perChunk - 1) / perChunk;
#endif
    }
};

/// body(team, group) for `groups` groups of `rows` rows of `columns` numbers of type T.
template <class T, class Body>
void forEachColumn(Stream& stream, Index groups, Index rows, Index columns, const Body& body)
{
#if defined(__CUDACC__)
    (void)rows;
    constexpr Index kTile = ColumnTeam::kAcross * kPackSize<T>;
    const Index tiles = (columns + kTile - 1) / kTile, items = groups * tiles;
    if (items <= 0)
        return;
    const Index blocks = items < loops::kMostBlocks ? items : loops::kMostBlocks;
    loops::forEachColumnTile<<<static_cast<unsigned>(blocks), ColumnTeam::kThreads, 0,
                               static_cast<cudaStream_t>(stream.native())>>>(items, tiles, body);
    checkLaunch(stream, "forEachColumn");
#else
    forEachRow<T>(stream, groups, rows * columns,
                  [body](const Team&, Index group) { body(ColumnTeam{}, group); });
#endif
}

/// to[at] = total of `sum`, if `to` is not null, which is the same for all threads.
template <class To, class At, class P>
VERGENCE_HD void storeTotal(const ColumnTeam& team, To* to, At at, const P& sum)
{
    if (!to)
        return;
    const P total = team.total(sum);
    if (team.isFirst())
        store(to, at, total);
}

} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
