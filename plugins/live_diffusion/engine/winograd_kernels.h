#pragma once

#include "core/compute/kernel.h"
#include "core/compute/view.h"

namespace vergence::live {

// 3×3 convolutions, stride 1, padding 1, with fewer multiplications: tiles of m×m results from
// transformed (m + 2)×(m + 2) patches. Source: Fast Algorithms for Convolutional Neural Networks
// (2015), equation 8. The CPU only, F32, channels innermost. The points are 0, ±1, ∞ for m = 2 and
// 0, ±5/8, ±3/2, ∞ for m = 4, which keep the error near 1e-6 of the largest result.

/// Weights in transformed order.
struct WinogradWeights {
    int tile = 4; ///< m: 2 or 4
    Index channels = 0, outChannels = 0;
    const float* weight = nullptr; ///< [outChannels, 3, 3, channels]
    float* transformed = nullptr;  ///< winogradWeightNumbers(); what order is the kernel's own
};

struct WinogradArguments {
    int tile = 4;
    Index images = 0, height = 0, width = 0; ///< of the result
    Index channels = 0, outChannels = 0;
    bool upsamples = false; ///< x has half the height and width and is read as nearest ×2
    const float* x = nullptr;
    const float* weights = nullptr; ///< transformed
    const float* bias = nullptr;    ///< [outChannels] + image · biasStride; may be null
    Index biasStride = 0;
    const float* residual = nullptr; ///< shape of y, may be y; null: none
    float* y = nullptr;              ///< [images, height, width, outChannels]
    float* room = nullptr;           ///< winogradRoom() numbers

    Index tilesHigh() const { return (height + tile - 1) / tile; }
    Index tilesWide() const { return (width + tile - 1) / tile; }
    Index tiles() const { return images * tilesHigh() * tilesWide(); }
    Index points() const { return Index{tile + 2} * (tile + 2); }
};

/// Numbers from one point's matrix [rows, columns] to the next: an odd number of cache lines, so
/// that the points of a tile spread over all sets of a cache.
inline Index winogradPointStride(Index rows, Index columns)
{
    const Index lines = (rows * columns + 15) / 16;
    return (lines % 2 == 0 ? lines + 1 : lines) * 16;
}
/// Most tiles that are worked on together.
inline constexpr Index kWinogradRows = 64;
/// How many tiles are worked on together, a multiple of 4; depends on the shape alone.
Index winogradBlockTiles(const WinogradArguments& arguments);
Index winogradWeightNumbers(int tile, Index channels, Index outChannels);
/// Transformed patches of all tiles, so that no two threads share any.
Index winogradRoom(const WinogradArguments& arguments);

inline const Kernel<void(const WinogradWeights&)> winogradTransform{"live.winograd_transform"};
inline const Kernel<void(const WinogradArguments&)> winogradConvolution{"live.winograd"};

} // namespace vergence::live
