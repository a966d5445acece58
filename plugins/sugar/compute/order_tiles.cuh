#pragma once

// The CUDA driver of sorting: CUB sorts Gaussians by depth, then entries by tile.

#include <bit>

#include "core/compute/launch.h"
#include "core/compute/temporary.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

struct Enumerate {
    std::uint32_t* out;
    VERGENCE_HD void operator()(Index i) const { out[i] = static_cast<std::uint32_t>(i); }
};

/// RasterTotals as the device sums them.
struct Tally {
    Index visible, instances;
    VERGENCE_HD friend Tally operator+(Tally a, Tally b)
    {
        return {a.visible + b.visible, a.instances + b.instances};
    }
};

struct TallyOf {
    const std::uint32_t* counts;
    VERGENCE_HD Tally operator()(Index i) const
    {
        return {counts[i] > 0 ? 1 : 0, static_cast<Index>(counts[i])};
    }
};

void orderBody(Stream& stream, const OrderArguments& a)
{
    const Temporary memory(stream, 1, sizeof(Tally));
    auto* const sum = static_cast<Tally*>(memory.data());
    reduceInto(stream, a.count, TallyOf{a.counts}, Plus{}, Tally{0, 0}, sum);
    exclusiveScan(stream, a.counts, a.slots, a.count);
    forEach(stream, a.count, Enumerate{a.scratch});
    sortPairs(stream, a.keys, a.scratch + a.count, a.scratch, a.order, a.count);
    Tally tally{};
    stream.copy(&tally, sum, sizeof(tally));
    stream.synchronize(); // once all is queued, so that the device has work meanwhile
    *a.totals = {tally.visible, tally.instances};
}

struct RankCounts {
    const std::uint32_t *order, *counts;
    std::uint32_t* out;
    VERGENCE_HD void operator()(Index rank) const { out[rank] = counts[order[rank]]; }
};

/// What is sorted by tile where the backward pass will need slots.
struct alignas(8) SlottedEntry {
    std::uint32_t gaussian, slot;
};

/// Writes the entries of one Gaussian in the order of depth. Entry: a Gaussian's number or
/// SlottedEntry.
template <class Entry>
struct EmitEntries {
    ListArguments a;
    const std::uint32_t* offsets; ///< [visible]
    std::uint32_t* tiles;
    Entry* entries;

    /// One thread for all rows of tiles.
    __device__ void alone(Index rank) const
    {
        const std::uint32_t gaussian = a.order[rank], start = offsets[rank];
        std::uint32_t done = 0;
        for (int row = a.boxes[gaussian].y0; row < a.boxes[gaussian].y1; ++row)
            done += oneRow(gaussian, row, spanOf(gaussian, row), start, done);
    }

    /// A row of tiles for each lane of a warp.
    __device__ void together(Index rank, int lane) const
    {
        const std::uint32_t gaussian = a.order[rank], start = offsets[rank];
        std::uint32_t done = 0;
        for (int first = a.boxes[gaussian].y0; first < a.boxes[gaussian].y1; first += 32) {
            const int row = first + lane;
            const TileSpan span =
                row < a.boxes[gaussian].y1 ? spanOf(gaussian, row) : TileSpan{0, 0};
            const auto width = static_cast<std::uint32_t>(span.last - span.first);
            std::uint32_t sum = width; // of this row and those above
            for (int step = 1; step < 32; step *= 2) {
                const std::uint32_t above = __shfl_up_sync(0xffffffffu, sum, step);
                sum += lane >= step ? above : 0;
            }
            oneRow(gaussian, row, span, start, done + sum - width);
            done += __shfl_sync(0xffffffffu, sum, 31);
        }
    }

private:
    __device__ TileSpan spanOf(std::uint32_t gaussian, int row) const
    {
        return tileSpan(a.splats[gaussian], a.boxes[gaussian], row);
    }

    /// Returns the number of entries.
    __device__ std::uint32_t oneRow(std::uint32_t gaussian, int row, TileSpan span,
                                    std::uint32_t start, std::uint32_t before) const
    {
        for (int column = span.first; column < span.last; ++column, ++before) {
            tiles[start + before] =
                static_cast<std::uint32_t>((row - a.firstRow) * a.tilesX + column);
            if constexpr (std::is_same_v<Entry, SlottedEntry>)
                entries[start + before] = {gaussian, a.slots[gaussian] + before};
            else
                entries[start + before] = gaussian;
        }
        return static_cast<std::uint32_t>(span.last - span.first);
    }
};

/// Each thread lists the tiles of a small splat; the warp joins for large ones, one after another.
template <class Entry>
__global__ void emitEntries(EmitEntries<Entry> emit)
{
    constexpr std::uint32_t kSmall = 32;
    const Index rank = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool isThere = rank < emit.a.totals.visible;
    const bool isLarge = isThere && emit.a.counts[emit.a.order[rank]] > kSmall;
    if (isThere && !isLarge)
        emit.alone(rank);
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (unsigned large = __ballot_sync(0xffffffffu, isLarge); large != 0; large &= large - 1)
        emit.together(rank - lane + __ffs(static_cast<int>(large)) - 1, lane);
}

struct PlaceEntries {
    const SlottedEntry* from;
    std::uint32_t *gaussians, *slots;
    VERGENCE_HD void operator()(Index i) const
    {
        gaussians[i] = from[i].gaussian;
        slots[i] = from[i].slot;
    }
};

/// First entry of a tile: the first whose tile is not smaller.
struct TileStart {
    const std::uint32_t* tiles;
    Index entries;
    std::uint32_t *starts, *tileOrder;
    Index tileCount;
    VERGENCE_HD void operator()(Index tile) const
    {
        Index low = 0, high = entries;
        while (low < high) {
            const Index middle = (low + high) / 2;
            if (static_cast<Index>(tiles[middle]) < tile)
                low = middle + 1;
            else
                high = middle;
        }
        starts[tile] = static_cast<std::uint32_t>(low);
        if (tile < tileCount)
            tileOrder[tile] = static_cast<std::uint32_t>(tile);
    }
};

/// Lists entries and sorts them by tile into `sorted` and `keys`; what it needs besides lies in
/// memory of its own.
template <class Entry>
void sortEntries(Stream& stream, const ListArguments& a, std::uint32_t* keys, Entry* sorted)
{
    constexpr unsigned kThreads = 128;
    const Index n = a.totals.instances, visible = a.totals.visible;
    if (n == 0)
        return;
    const Temporary entries(stream, n, sizeof(Entry));
    const Temporary numbers(stream, n + visible, sizeof(std::uint32_t));
    auto* const unsorted = static_cast<Entry*>(entries.data());
    auto* const tiles = static_cast<std::uint32_t*>(numbers.data());
    std::uint32_t* const offsets = tiles + n;
    forEach(stream, visible, RankCounts{a.order, a.counts, offsets});
    exclusiveScan(stream, offsets, offsets, visible);
    emitEntries<<<static_cast<unsigned>((visible + kThreads - 1) / kThreads), kThreads, 0,
                  static_cast<cudaStream_t>(stream.native())>>>(
        EmitEntries<Entry>{a, offsets, tiles, unsorted});
    checkLaunch(stream, "emitEntries");
    const int last = a.tilesX * (a.lastRow - a.firstRow) - 1;
    const int bits = std::bit_width(static_cast<unsigned>(last));
    sortPairs(stream, tiles, keys, unsorted, sorted, n, 0, bits > 0 ? bits : 1);
}

void listBody(Stream& stream, const ListArguments& a)
{
    const Index n = a.totals.instances,
                tiles = static_cast<Index>(a.tilesX) * (a.lastRow - a.firstRow);
    const Temporary numbers(stream, n, sizeof(std::uint32_t));
    auto* const keys = static_cast<std::uint32_t*>(numbers.data());
    if (a.entrySlots) {
        const Temporary entries(stream, n, sizeof(SlottedEntry));
        auto* const sorted = static_cast<SlottedEntry*>(entries.data());
        sortEntries(stream, a, keys, sorted);
        forEach(stream, n, PlaceEntries{sorted, a.gaussians, a.entrySlots});
    } else {
        sortEntries(stream, a, keys, a.gaussians);
    }
    forEach(stream, tiles + 1, TileStart{keys, n, a.starts, a.tileOrder, tiles});
}

} // namespace

} // namespace vergence::sugar
