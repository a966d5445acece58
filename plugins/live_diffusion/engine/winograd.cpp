#include "plugins/live_diffusion/engine/winograd_kernels.h"

#include <algorithm>

namespace vergence::live {

namespace {

constexpr Index kNarrowestPanel = 16; ///< of the widest vectors; outputs are padded to it

} // namespace

Index winogradBlockTiles(const WinogradArguments& p)
{
    constexpr Index kCacheNumbers = 98304, kLeast = 12, kWideWeights = 131072;
    const Index tiles = p.tiles();
    // weights that outgrow a cache are read once, by one block of all tiles
    if (tiles <= kWinogradRows && p.points() * p.channels * p.outChannels > kWideWeights)
        return (tiles + 3) / 4 * 4;
    const Index fitting = std::clamp(kCacheNumbers / (p.points() * p.channels) / 12 * 12, kLeast,
                                     kWinogradRows / 12 * 12);
    const Index blocks = (tiles + fitting - 1) / fitting;
    return ((tiles + blocks - 1) / blocks + 3) / 4 * 4;
}

Index winogradWeightNumbers(int tile, Index channels, Index outChannels)
{
    const Index points = Index{tile + 2} * (tile + 2);
    return points * channels *
           ((outChannels + kNarrowestPanel - 1) / kNarrowestPanel * kNarrowestPanel);
}

Index winogradRoom(const WinogradArguments& p)
{
    const Index perBlock = winogradBlockTiles(p);
    const Index blocks = (p.tiles() + perBlock - 1) / perBlock;
    return blocks * p.points() * winogradPointStride(perBlock, p.channels);
}

} // namespace vergence::live
