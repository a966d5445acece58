#pragma once

// For the CPU builds of the blending kernels: how the pixels of a tile lie in memory. A tile is cut
// into four strips, each 4 pixels wide and 16 rows high, strip after strip and row after row. Any
// kLanes pixels that follow each other are a block of 4 × kLanes/4 pixels: compact, so that a small
// splat fills its vectors better than it would fill rows. A block is named by the bit
// 16 strip + first row; it starts at pixel 4 · bit.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "plugins/sugar/compute/lanes.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

using namespace lanes;

inline constexpr int kStrips = 4, kStripWidth = kTile / kStrips;
inline constexpr int kBlockRows = kLanes / kStripWidth;

/// Centres of the pixels of a tile relative to its corner, in the order of strips.
struct TileCentres {
    alignas(64) float x[kTilePixels] = {}, y[kTilePixels] = {};

    constexpr TileCentres()
    {
        for (int i = 0; i < kTilePixels; ++i) {
            x[i] = static_cast<float>(i / (kStripWidth * kTile) * kStripWidth + i % kStripWidth) +
                   0.5F;
            y[i] = static_cast<float>(i / kStripWidth % kTile) + 0.5F;
        }
    }
};
constexpr TileCentres kCentres;

struct RowCentres {
    alignas(64) float y[kTile] = {};
    constexpr RowCentres()
    {
        for (int i = 0; i < kTile; ++i)
            y[i] = static_cast<float>(i) + 0.5F;
    }
};
constexpr RowCentres kRowCentres;

/// Bits of single rows of strips to bits of blocks.
VERGENCE_HD std::uint64_t rowsToBlocks(std::uint64_t bits)
{
    if constexpr (kBlockRows >= 2)
        bits |= bits >> 1;
    if constexpr (kBlockRows >= 4)
        bits |= bits >> 2;
    if constexpr (kBlockRows == 4)
        bits &= 0x1111111111111111ULL;
    else if constexpr (kBlockRows == 2)
        bits &= 0x5555555555555555ULL;
    return bits;
}

/// The blocks of a tile that hold pixels where the splat (its centre relative to the corner of the
/// tile) may be visible. Row by row the visible pixels are an interval; it is taken a little too
/// wide.
VERGENCE_HD std::uint64_t touchedBlocks(const Splat& splat)
{
    const Vector u = all(splat.u), v = all(splat.v);
    const Vector reach = all(splat.level - kLevelCut + 1e-4F);
    std::uint64_t bits = 0;
    for (int row = 0; row < kTile; row += kLanes) {
        const Vector dy = v - load(kRowCentres.y + row);
        const Vector left = reach - splat.row * (dy * dy);
        const Vector half = squareRoot(select(left > 0.0F, left, Vector{}) * splat.column) + 0.01F;
        const Vector middle = multiplyAdd(all(splat.slope), dy, u);
        const Vector low = middle - half, high = middle + half;
        const Mask isThere = isAbove(left, Vector{});
        for (int strip = 0; strip < kStrips; ++strip) {
            const float first = static_cast<float>(strip * kStripWidth) + 0.5F;
            const Mask hit = isThere & isAtLeast(all(first + kStripWidth - 1), low) &
                             isAtLeast(high, all(first));
            bits |= static_cast<std::uint64_t>(hit.bits()) << (kTile * strip + row);
        }
    }
    return rowsToBlocks(bits);
}

/// Writes the blocks of a mask behind each other, `tag` added; returns how many.
VERGENCE_HD int listBlocks(std::uint64_t mask, std::int32_t tag, std::int32_t* out)
{
#if defined(__AVX512F__)
    const auto dense = static_cast<__mmask16>(_pext_u64(mask, 0x1111111111111111ULL));
    const __m512i bits =
        _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
    _mm512_mask_compressstoreu_epi32(out, dense, _mm512_add_epi32(bits, _mm512_set1_epi32(tag)));
    return std::popcount(mask);
#else
    int count = 0;
    for (; mask != 0; mask &= mask - 1)
        out[count++] = tag + std::countr_zero(mask);
    return count;
#endif
}

/// The part of the images that a tile covers. Images may begin further down in the picture, at a
/// row of tiles.
struct TilePlace {
    int x0, y0; ///< corner in the images
    int top;    ///< row of the corner in the picture
    int columns, rows, width;

    TilePlace(Index tile, int tilesX, int firstRow, int imageWidth, int imageHeight)
        : x0(static_cast<int>(tile % tilesX) * kTile),
          y0(static_cast<int>(tile / tilesX) * kTile),
          top(y0 + firstRow * kTile),
          columns(imageWidth - x0 < kTile ? imageWidth - x0 : kTile),
          rows(imageHeight - y0 < kTile ? imageHeight - y0 : kTile),
          width(imageWidth)
    {
    }

    /// Calls visit(place in the tile, place in the image, pixels) for runs of at most 4 pixels.
    template <class Visit>
    VERGENCE_HD void forEachRun(const Visit& visit) const
    {
        for (int row = 0; row < rows; ++row) {
            const Index line = static_cast<Index>(y0 + row) * width + x0;
            for (int x = 0; x < columns; x += kStripWidth) {
                const int run = columns - x < kStripWidth ? columns - x : kStripWidth;
                visit(x * kTile + row * kStripWidth, line + x, run);
            }
        }
    }

    /// Image to tile; pixels outside become 0.
    template <class T>
    void gather(const T* image, T* tile) const
    {
        std::memset(tile, 0, kTilePixels * sizeof(T));
        forEachRun([&](int at, Index from, int run) {
            if (run == kStripWidth)
                std::memcpy(tile + at, image + from, kStripWidth * sizeof(T));
            else
                std::copy_n(image + from, run, tile + at);
        });
    }

    template <class T>
    void scatter(const T* tile, T* image) const
    {
        forEachRun([&](int at, Index to, int run) {
            if (run == kStripWidth)
                std::memcpy(image + to, tile + at, kStripWidth * sizeof(T));
            else
                std::copy_n(tile + at, run, image + to);
        });
    }

    /// Blocks with at least one pixel of the image.
    std::uint64_t blocks() const
    {
        std::uint64_t bits = 0;
        forEachRun([&](int at, Index, int) { bits |= 1ULL << (at / kStripWidth); });
        return rowsToBlocks(bits);
    }
};

/// A splat with its centre relative to the corner of a tile.
VERGENCE_HD Splat relativeTo(const TilePlace& place, const Splat& splat)
{
    Splat moved = splat;
    moved.u -= static_cast<float>(place.x0);
    moved.v -= static_cast<float>(place.top);
    return moved;
}

/// What the pixels of a block need of a splat that is relative to the tile.
struct SplatLanes {
    Vector u, v, a, b, c, level;

    VERGENCE_HD explicit SplatLanes(const Splat& splat)
        : u(all(splat.u)),
          v(all(splat.v)),
          a(all(splat.a)),
          b(all(splat.b)),
          c(all(splat.c)),
          level(all(splat.level))
    {
    }
};

struct SampleLanes {
    Vector dx, dy;
    Vector raw;   ///< α before the cap
    Vector alpha; ///< garbage where not a hit
    Mask isHit;

    VERGENCE_HD SampleLanes(const SplatLanes& splat, int pixel)
        : dx(splat.u - load(kCentres.x + pixel)),
          dy(splat.v - load(kCentres.y + pixel))
    {
        const Vector inner = multiplyAdd(splat.a, dx, splat.b * dy);
        const Vector exponent = splat.level - multiplyAdd(inner, dx, (splat.c * dy) * dy);
        isHit = isAtLeast(exponent, all(kLevelCut)) & isAtLeast(splat.level, exponent);
        raw = powerOfTwo(exponent);
        alpha = atMost(raw, kAlphaCap);
    }
};

} // namespace

} // namespace vergence::sugar
