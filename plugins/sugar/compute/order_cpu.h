#pragma once

// The CPU driver of sorting, included by order_kernels.cpp. Work is cut into pieces whose number
// depends on the counts alone, so the order of equal keys never depends on threads.

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/compute/launch.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

/// [0, n) in at most kMost pieces.
struct Pieces {
    static constexpr Index kMost = 16, kLeast = 4096;
    Index n, count, size;

    explicit Pieces(Index items)
        : n(items),
          count(std::clamp<Index>((items + kLeast - 1) / kLeast, 1, kMost)),
          size((items + count - 1) / count)
    {
    }
    Index begin(Index piece) const { return std::min(n, piece * size); }
    Index end(Index piece) const { return std::min(n, (piece + 1) * size); }
};

struct PieceTotals {
    std::uint64_t visible, instances;
};

/// First instance of each Gaussian, and the visible ones with their keys in the order of indices.
void compact(Stream& stream, const OrderArguments& a, std::uint32_t* keys, std::uint32_t* indices)
{
    const Pieces pieces(a.count);
    PieceTotals totals[Pieces::kMost] = {};
    forEach(
        stream, pieces.count,
        [&](Index piece) {
            PieceTotals sum{};
            for (Index i = pieces.begin(piece); i < pieces.end(piece); ++i) {
                sum.visible += a.counts[i] != 0;
                sum.instances += a.counts[i];
            }
            totals[piece] = sum;
        },
        1);
    PieceTotals before{};
    for (Index piece = 0; piece < pieces.count; ++piece) {
        const PieceTotals own = totals[piece];
        totals[piece] = before;
        before.visible += own.visible;
        before.instances += own.instances;
    }
    forEach(
        stream, pieces.count,
        [&](Index piece) {
            PieceTotals at = totals[piece];
            for (Index i = pieces.begin(piece); i < pieces.end(piece); ++i) {
                a.slots[i] = static_cast<std::uint32_t>(at.instances);
                at.instances += a.counts[i];
                if (a.counts[i] == 0)
                    continue;
                keys[at.visible] = a.keys[i];
                indices[at.visible++] = static_cast<std::uint32_t>(i);
            }
        },
        1);
    *a.totals = {static_cast<Index>(before.visible), static_cast<Index>(before.instances)};
}

constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits;

/// Histograms [piece][digit] to first places, digits first.
void placesOf(std::uint32_t* histogram, Index pieces, Index digits)
{
    std::uint32_t sum = 0;
    for (Index digit = 0; digit < digits; ++digit) {
        for (Index piece = 0; piece < pieces; ++piece) {
            std::uint32_t& entry = histogram[piece * digits + digit];
            const std::uint32_t own = entry;
            entry = sum;
            sum += own;
        }
    }
}

/// One stable pass of a radix sort of pairs.
void sortPass(Stream& stream, Index n, int shift, const std::uint32_t* keysIn,
              const std::uint32_t* valuesIn, std::uint32_t* keysOut, std::uint32_t* valuesOut,
              std::uint32_t* histogram)
{
    const Pieces pieces(n);
    forEach(
        stream, pieces.count,
        [&](Index piece) {
            std::uint32_t* own = histogram + piece * kDigits;
            std::memset(own, 0, kDigits * sizeof(std::uint32_t));
            for (Index i = pieces.begin(piece); i < pieces.end(piece); ++i)
                ++own[(keysIn[i] >> shift) & (kDigits - 1)];
        },
        1);
    placesOf(histogram, pieces.count, kDigits);
    forEach(
        stream, pieces.count,
        [&](Index piece) {
            std::uint32_t* own = histogram + piece * kDigits;
            for (Index i = pieces.begin(piece); i < pieces.end(piece); ++i) {
                const std::uint32_t to = own[(keysIn[i] >> shift) & (kDigits - 1)]++;
                keysOut[to] = keysIn[i];
                valuesOut[to] = valuesIn[i];
            }
        },
        1);
}

void orderBody(Stream& stream, const OrderArguments& a)
{
    std::uint32_t *keys = a.scratch, *otherKeys = keys + a.count, *others = otherKeys + a.count;
    // Three passes end in the other arrays, so the first starts in them.
    compact(stream, a, otherKeys, others);
    const Index n = a.totals->visible;
    auto* histogram = static_cast<std::uint32_t*>(
        stream.scratch(Pieces::kMost * kDigits * sizeof(std::uint32_t)));
    std::uint32_t* last = others + a.count; // keys of the last pass are not needed
    sortPass(stream, n, 0, otherKeys, others, keys, a.order, histogram);
    sortPass(stream, n, kDigitBits, keys, a.order, otherKeys, others, histogram);
    sortPass(stream, n, 2 * kDigitBits, otherKeys, others, last, a.order, histogram);
}

/// Calls visit(tile, slot) for the tiles of one Gaussian, row by row.
template <class Visit>
VERGENCE_HD void forEachTile(const ListArguments& a, std::uint32_t gaussian, const Visit& visit)
{
    const TileBox box = a.boxes[gaussian];
    std::uint32_t slot = a.slots[gaussian];
    if (std::uint64_t mask = a.masks[gaussian]; mask != 0) {
        const Index corner = static_cast<Index>(box.y0 - a.firstRow) * a.tilesX + box.x0;
        for (; mask != 0; mask &= mask - 1) {
            const int bit = std::countr_zero(mask);
            visit(corner + static_cast<Index>(bit / kMaskSide) * a.tilesX + bit % kMaskSide,
                  slot++);
        }
        return;
    }
    const Splat& splat = a.splats[gaussian];
    for (int row = box.y0; row < box.y1; ++row) {
        const TileSpan span = tileSpan(splat, box, row);
        for (int column = span.first; column < span.last; ++column)
            visit(static_cast<Index>(row - a.firstRow) * a.tilesX + column, slot++);
    }
}

/// Tiles by number of entries, most first, so that no large one starts late.
void sortTiles(const ListArguments& a, Index tiles)
{
    for (Index tile = 0; tile < tiles; ++tile)
        a.tileOrder[tile] = static_cast<std::uint32_t>(tile);
    std::sort(a.tileOrder, a.tileOrder + tiles, [&](std::uint32_t left, std::uint32_t right) {
        const std::uint32_t l = a.starts[left + 1] - a.starts[left],
                            r = a.starts[right + 1] - a.starts[right];
        return l != r ? l > r : left < right;
    });
}

void listBody(Stream& stream, const ListArguments& a)
{
    const Pieces pieces(a.totals.visible);
    const Index tiles = static_cast<Index>(a.tilesX) * (a.lastRow - a.firstRow);
    auto* histogram = static_cast<std::uint32_t*>(
        stream.scratch(static_cast<std::size_t>(pieces.count * tiles) * sizeof(std::uint32_t)));
    forEach(
        stream, pieces.count,
        [&](Index piece) {
            std::uint32_t* own = histogram + piece * tiles;
            std::memset(own, 0, static_cast<std::size_t>(tiles) * sizeof(std::uint32_t));
            for (Index i = pieces.begin(piece); i < pieces.end(piece); ++i)
                forEachTile(a, a.order[i], [&](Index tile, std::uint32_t) { ++own[tile]; });
        },
        1);
    placesOf(histogram, pieces.count, tiles);
    for (Index tile = 0; tile < tiles; ++tile)
        a.starts[tile] = histogram[tile];
    a.starts[tiles] = static_cast<std::uint32_t>(a.totals.instances);
    forEach(
        stream, pieces.count,
        [&](Index piece) {
            std::uint32_t* own = histogram + piece * tiles;
            for (Index i = pieces.begin(piece); i < pieces.end(piece); ++i) {
                const std::uint32_t gaussian = a.order[i];
                forEachTile(a, gaussian, [&](Index tile, std::uint32_t slot) {
                    const std::uint32_t to = own[tile]++;
                    a.gaussians[to] = gaussian;
                    if (a.entrySlots)
                        a.entrySlots[to] = slot;
                });
            }
        },
        1);
    sortTiles(a, tiles);
}

} // namespace

} // namespace vergence::sugar
