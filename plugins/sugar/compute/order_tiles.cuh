#pragma once

// The CUDA driver of sorting: CUB sorts Gaussians by depth, then entries by tile.

#include "core/compute/launch.h"
#include "core/compute/temporary.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

struct Enumerate {
    std::uint32_t* out;
    VERGENCE_HD void operator()(Index i) const { out[i] = static_cast<std::uint32_t>(i); }
};

struct CountOf {
    const std::uint32_t* counts;
    bool one;
    VERGENCE_HD double operator()(Index i) const
    {
        return one ? (counts[i] > 0 ? 1.0 : 0.0) : static_cast<double>(counts[i]);
    }
};

void orderBody(Stream& stream, const OrderArguments& a)
{
    *a.totals = {static_cast<Index>(reduceSum(stream, a.count, CountOf{a.counts, true})),
                 static_cast<Index>(reduceSum(stream, a.count, CountOf{a.counts, false}))};
    exclusiveScan(stream, a.counts, a.slots, a.count);
    forEach(stream, a.count, Enumerate{a.scratch});
    sortPairs(stream, a.keys, a.scratch + a.count, a.scratch, a.order, a.count);
}

struct RankCounts {
    const std::uint32_t *order, *counts;
    std::uint32_t* out;
    VERGENCE_HD void operator()(Index rank) const { out[rank] = counts[order[rank]]; }
};

/// Writes the entries of one Gaussian in the order of depth.
struct EmitEntries {
    ListArguments a;
    const std::uint32_t* offsets; ///< [visible]
    std::uint32_t *tiles, *gaussians, *slots;

    VERGENCE_HD void operator()(Index rank) const
    {
        const std::uint32_t gaussian = a.order[rank];
        const TileBox box = a.boxes[gaussian];
        std::uint32_t to = offsets[rank], slot = a.slots[gaussian];
        for (int row = box.y0; row < box.y1; ++row) {
            const TileSpan span = tileSpan(a.splats[gaussian], box, row);
            for (int column = span.first; column < span.last; ++column, ++to) {
                tiles[to] = static_cast<std::uint32_t>((row - a.firstRow) * a.tilesX + column);
                gaussians[to] = gaussian;
                slots[to] = slot++;
            }
        }
    }
};

struct PlaceEntries {
    const std::uint32_t *from, *gaussians, *slots;
    std::uint32_t *toGaussians, *toSlots;
    VERGENCE_HD void operator()(Index i) const
    {
        toGaussians[i] = gaussians[from[i]];
        if (toSlots)
            toSlots[i] = slots[from[i]];
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

void listBody(Stream& stream, const ListArguments& a)
{
    const Index n = a.totals.instances,
                tiles = static_cast<Index>(a.tilesX) * (a.lastRow - a.firstRow);
    const Temporary memory(stream, 6 * n + a.totals.visible, sizeof(std::uint32_t));
    auto* const keys = static_cast<std::uint32_t*>(memory.data());
    std::uint32_t *sorted = keys + n, *index = sorted + n, *from = index + n, *gaussians = from + n,
                  *slots = gaussians + n, *offsets = slots + n;
    forEach(stream, a.totals.visible, RankCounts{a.order, a.counts, offsets});
    exclusiveScan(stream, offsets, offsets, a.totals.visible);
    forEach(stream, a.totals.visible, EmitEntries{a, offsets, keys, gaussians, slots});
    forEach(stream, n, Enumerate{index});
    sortPairs(stream, keys, sorted, index, from, n);
    forEach(stream, n, PlaceEntries{from, gaussians, slots, a.gaussians, a.entrySlots});
    forEach(stream, tiles + 1, TileStart{sorted, n, a.starts, a.tileOrder, tiles});
}

} // namespace

} // namespace vergence::sugar
