#include "plugins/live_diffusion/engine/winograd_kernels.h"

#include <algorithm>

namespace vergence::live {

namespace {

constexpr Index kNarrowestPanel = 16; ///< of the widest vectors; outputs are padded to it

} // namespace

Index winogradBlockTiles(Index tiles, int tile, Index channels)
{
    constexpr Index kCacheNumbers = 98304, kMost = 48, kLeast = 12; // 384 KiB of patches
    const Index points = Index{tile + 2} * (tile + 2);
    const Index fitting = std::clamp(kCacheNumbers / (points * channels) / 12 * 12, kLeast, kMost);
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
    const Index perBlock = winogradBlockTiles(p.tiles(), p.tile, p.channels);
    const Index blocks = (p.tiles() + perBlock - 1) / perBlock;
    return blocks * p.points() * winogradPointStride(perBlock, p.channels);
}

} // namespace vergence::live
