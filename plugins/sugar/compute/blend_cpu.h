#pragma once

// The CPU driver of blending, included by blend_kernels.cpp. One task blends one tile, one vector
// holds one block of pixels.

#include <algorithm>
#include <bit>
#include <cstddef>

#include "core/compute/launch.h"
#include "plugins/sugar/compute/tile_pixels_cpu.h"

namespace vergence::sugar {

namespace {

/// Splats that are fetched ahead, and splats of a batch.
inline constexpr int kAhead = 6, kBatch = 32;

/// What is blended: colour, and with geometry also depth and normal.
template <bool Geometry>
inline constexpr int kChannels = Geometry ? 7 : 3;

/// Colour, depth and normal follow each other in a splat.
VERGENCE_HD float channelOf(const Splat& splat, int k)
{
    static_assert(offsetof(Splat, depth) == offsetof(Splat, colour) + 3 * sizeof(float) &&
                  offsetof(Splat, normal) == offsetof(Splat, depth) + sizeof(float));
    return reinterpret_cast<const float*>(
        &splat)[offsetof(Splat, colour) / sizeof(float) + static_cast<std::size_t>(k)];
}

template <bool Geometry, bool Keep>
struct BlendTile {
    BlendArguments a;

    void operator()(Index task) const
    {
        const Index tile = a.tileOrder[a.firstTile + task];
        const TilePlace place(tile, a.tilesX, a.firstRow, a.width, a.height);
        State state;
        state.start(place);
        const std::uint32_t begin = a.starts[tile], end = a.starts[tile + 1];
        Index blocks = 0;
        std::uint32_t entry = begin;
        while (entry < end && state.alive) {
            const int count = static_cast<int>(std::min<std::uint32_t>(kBatch, end - entry));
            Batch batch;
            batch.load(a, place, entry, count, static_cast<int>(end - entry) - 1, state.alive);
            state.blend(batch, static_cast<std::int32_t>(entry - begin));
            if constexpr (Keep)
                std::copy_n(batch.reached, count, a.reached + entry);
            blocks += batch.items;
            entry += static_cast<std::uint32_t>(count);
        }
        if constexpr (Keep) {
            std::fill(a.reached + entry, a.reached + end, 0);
            std::memcpy(a.last + tile * kTilePixels, state.last, sizeof(state.last));
        }
        a.evaluations[2 * tile] = finish(place, state);
        a.evaluations[2 * tile + 1] = blocks * kLanes;
    }

private:
    /// Some splats in a row and the blocks that they touch, so that the loop over blocks neither
    /// waits for a mask nor is cut short by every splat.
    struct Batch {
        alignas(64) Splat splats[kBatch]; ///< relative to the tile
        std::uint64_t reached[kBatch];
        /// 64 · splat + block, in order; room for a whole vector beyond.
        alignas(64) std::int32_t item[kBatch * kTilePixels / kLanes + kLanes];
        int items = 0;

        /// `count` entries from `entry` on; `last` counts from there to the last of the tile.
        VERGENCE_HD void load(const BlendArguments& a, const TilePlace& place, std::uint32_t entry,
                              int count, int last, std::uint64_t alive)
        {
            std::uint64_t masks[kBatch];
            const std::uint32_t* gaussian = a.gaussians + entry;
            for (int i = 0; i < count; ++i) {
                __builtin_prefetch(a.splats + gaussian[std::min(i + kAhead, last)]);
                splats[i] = relativeTo(place, a.splats[gaussian[i]]);
                masks[i] = touchedBlocks(splats[i]) & alive;
                reached[i] = 0;
            }
            for (int i = 0; i < count; ++i)
                items += listBlocks(masks[i], 64 * i, item + items);
        }
    };

    struct State {
        alignas(64) float transmittance[kTilePixels]; ///< negative where the pixel has ended
        alignas(64) float x[kChannels<Geometry>][kTilePixels];
        alignas(64) std::int32_t contributors[kTilePixels];
        alignas(64) std::int32_t last[Keep ? kTilePixels : kLanes];
        std::uint64_t alive;

        void start(const TilePlace& place)
        {
            std::fill_n(transmittance, kTilePixels, -1.0F);
            place.forEachRun(
                [&](int at, Index, int run) { std::fill_n(transmittance + at, run, 1.0F); });
            std::memset(x, 0, sizeof(x));
            std::memset(contributors, 0, sizeof(contributors));
            std::memset(last, 0xFF, sizeof(last));
            alive = place.blocks();
        }

        /// Blends a batch whose first splat is entry `first` of the tile.
        VERGENCE_HD void blend(Batch& batch, std::int32_t first)
        {
            for (int i = 0; i < batch.items; ++i) {
                const int at = batch.item[i] >> 6, bit = batch.item[i] & 63;
                const Splat& splat = batch.splats[at];
                const int pixel = kStripWidth * bit;
                const SampleLanes sample(SplatLanes(splat), pixel);
                const Vector before = load(transmittance + pixel);
                const Vector weight = sample.alpha * before, after = before - weight;
                const Mask isMet = sample.isHit & isAbove(before, Vector{});
                const Mask isUsed = isMet & isAbove(after, all(kTransmittanceStop));
                const Vector used = keep(isUsed, weight);
                for (int k = 0; k < kChannels<Geometry>; ++k)
                    store(x[k] + pixel,
                          multiplyAdd(used, all(channelOf(splat, k)), load(x[k] + pixel)));
                store(transmittance + pixel, choose(isUsed, after, before));
                countWhere(isUsed, contributors + pixel);
                if constexpr (Keep)
                    storeWhere(isUsed, last + pixel, first + at);
                batch.reached[at] |= static_cast<std::uint64_t>(isUsed.bits() != 0) << bit;
                const Mask isEnded = without(isMet, isUsed);
                if (isEnded.bits() != 0)
                    endPixels(isEnded, bit);
            }
        }

        VERGENCE_HD void endPixels(Mask isEnded, int bit)
        {
            float* at = transmittance + kStripWidth * bit;
            const Vector old = load(at), ended = choose(isEnded, withSignBit(old), old);
            store(at, ended);
            if (isAbove(ended, Vector{}).bits() == 0)
                alive &= ~(1ULL << bit);
        }
    };

    /// Writes the images; returns how many samples were blended.
    Index finish(const TilePlace& place, State& state) const
    {
        const Index pixels = static_cast<Index>(a.width) * a.height;
        for (int i = 0; i < kTilePixels; i += kLanes) {
            const Vector left = absolute(load(state.transmittance + i));
            store(state.transmittance + i, left);
            for (int k = 0; k < 3; ++k)
                store(state.x[k] + i,
                      multiplyAdd(left, all(a.background[static_cast<std::size_t>(k)]),
                                  load(state.x[k] + i)));
        }
        for (int k = 0; k < 3; ++k)
            place.scatter(state.x[k], a.images.colour + k * pixels);
        place.scatter(state.transmittance, a.images.transmittance);
        place.scatter(state.contributors, a.images.contributors);
        if constexpr (Geometry) {
            place.scatter(state.x[3], a.images.depth);
            for (int k = 0; k < 3; ++k)
                place.scatter(state.x[4 + k], a.images.normal + k * pixels);
        }
        Index evaluations = 0;
        for (const std::int32_t count : state.contributors)
            evaluations += count;
        return evaluations;
    }
};

template <bool Geometry, bool Absolute>
struct BlendTileBackward {
    BlendBackwardArguments a;

    void operator()(Index task) const
    {
        const BlendArguments& f = a.forward;
        const Index tile = f.tileOrder[f.firstTile + task];
        const TilePlace place(tile, f.tilesX, f.firstRow, f.width, f.height);
        State state;
        start(place, state);
        state.last = f.last + tile * kTilePixels;
        const std::uint32_t begin = f.starts[tile];
        if (!state.hasGradient()) { // masked out, or beyond a band
            for (std::uint32_t entry = begin; entry < f.starts[tile + 1]; ++entry)
                std::memset(a.records + a.entrySlots[entry], 0, sizeof(SplatRecord));
            return;
        }
        for (std::uint32_t entry = f.starts[tile + 1]; entry-- > begin;) {
            const std::uint32_t ahead = entry - std::min<std::uint32_t>(kAhead, entry - begin);
            __builtin_prefetch(f.splats + f.gaussians[ahead]);
            __builtin_prefetch(a.records + a.entrySlots[ahead], 1);
            auto* record = reinterpret_cast<float*>(a.records + a.entrySlots[entry]);
            if (f.reached[entry] == 0)
                std::memset(record, 0, sizeof(SplatRecord));
            else
                state.step(relativeTo(place, f.splats[f.gaussians[entry]]), f.reached[entry],
                           static_cast<std::int32_t>(entry - begin), record);
        }
    }

private:
    struct State {
        alignas(64) float transmittance[kTilePixels];
        alignas(64) float behind[kTilePixels]; ///< as in BackwardPixel
        alignas(64) float g[kChannels<Geometry>][kTilePixels];
        const std::int32_t* last;

        bool hasGradient() const
        {
            Vector largest{};
            for (int i = 0; i < kTilePixels; i += kLanes) {
                largest += absolute(load(behind + i));
                for (int k = 0; k < kChannels<Geometry>; ++k)
                    largest += absolute(load(g[k] + i));
            }
            const Mask every = isAtLeast(Vector{}, Vector{});
            return without(every, isAtLeast(Vector{}, largest)).bits() != 0; // also for NaN
        }

        /// BackwardPixel::step for the blocks that one splat reached, and the sums over them.
        VERGENCE_HD void step(const Splat& splat, std::uint64_t reached, std::int32_t entry,
                              float* record)
        {
            const SplatLanes lanes(splat);
            Vector sums[16] = {};
            while (reached) {
                const int pixel = kStripWidth * std::countr_zero(reached);
                reached &= reached - 1;
                const SampleLanes sample(lanes, pixel);
                const Mask isUsed = sample.isHit & isAtLeast(load(last + pixel), entry);
                const Vector inverse = reciprocal(1.0F - sample.alpha);
                const Vector after = load(transmittance + pixel), old = load(behind + pixel);
                const Vector before = after * inverse;
                const Vector weight = keep(isUsed, sample.alpha * before);
                Vector e{};
                for (int k = 0; k < kChannels<Geometry>; ++k) {
                    const Vector gradient = load(g[k] + pixel);
                    e = multiplyAdd(gradient, all(channelOf(splat, k)), e);
                    sums[6 + k] = multiplyAdd(weight, gradient, sums[6 + k]);
                }
                const Vector gradAlpha = before * e - old * inverse;
                store(transmittance + pixel, choose(isUsed, before, after));
                store(behind + pixel, multiplyAdd(weight, e, old));
                const Mask isFree = isUsed & isAtLeast(all(kAlphaCap), sample.raw);
                addSums(sample, keep(isFree, -sample.raw * gradAlpha), lanes, sums);
            }
            sumRows(sums, record);
        }

        VERGENCE_HD static void addSums(const SampleLanes& sample, Vector gradient,
                                        const SplatLanes& lanes, Vector* sums)
        {
            const Vector x = gradient * sample.dx, y = gradient * sample.dy;
            sums[0] += gradient;
            sums[1] += x;
            sums[2] += y;
            sums[3] = multiplyAdd(x, sample.dx, sums[3]);
            sums[4] = multiplyAdd(x, sample.dy, sums[4]);
            sums[5] = multiplyAdd(y, sample.dy, sums[5]);
            if constexpr (Absolute) {
                constexpr float kLn2 = 0.693147181F; // from the scaled conic to the conic
                sums[13] += absolute((2 * kLn2) * (lanes.a * x) + kLn2 * (lanes.b * y));
                sums[14] += absolute(kLn2 * (lanes.b * x) + (2 * kLn2) * (lanes.c * y));
            }
        }
    };

    void start(const TilePlace& place, State& state) const
    {
        const BlendArguments& f = a.forward;
        const Index pixels = static_cast<Index>(f.width) * f.height;
        place.gather(f.images.transmittance, state.transmittance);
        const auto gather = [&](const float* image, float* tile) {
            if (image)
                place.gather(image, tile);
            else
                std::memset(tile, 0, kTilePixels * sizeof(float));
        };
        for (int k = 0; k < 3; ++k)
            gather(a.gradColour ? a.gradColour + k * pixels : nullptr, state.g[k]);
        if constexpr (Geometry) {
            gather(a.gradDepth, state.g[3]);
            for (int k = 0; k < 3; ++k)
                gather(a.gradNormal ? a.gradNormal + k * pixels : nullptr, state.g[4 + k]);
        }
        gather(a.gradCoverage, state.behind);
        for (int i = 0; i < kTilePixels; i += kLanes) {
            Vector sum = -load(state.behind + i);
            for (int k = 0; k < 3; ++k)
                sum = multiplyAdd(all(f.background[static_cast<std::size_t>(k)]),
                                  load(state.g[k] + i), sum);
            store(state.behind + i, load(state.transmittance + i) * sum);
        }
    }
};

template <bool Geometry>
void runBlend(Stream& stream, const BlendArguments& a)
{
    const Index tiles = a.lastTile - a.firstTile;
    if (a.reached)
        forEach(stream, tiles, BlendTile<Geometry, true>{a}, 1);
    else
        forEach(stream, tiles, BlendTile<Geometry, false>{a}, 1);
}

void blendBody(Stream& stream, const BlendArguments& a)
{
    if (a.images.depth)
        runBlend<true>(stream, a);
    else
        runBlend<false>(stream, a);
}

template <bool Geometry>
void runBlendBackward(Stream& stream, const BlendBackwardArguments& a)
{
    const Index tiles = a.forward.lastTile - a.forward.firstTile;
    if (a.absolute)
        forEach(stream, tiles, BlendTileBackward<Geometry, true>{a}, 1);
    else
        forEach(stream, tiles, BlendTileBackward<Geometry, false>{a}, 1);
}

void blendBackwardBody(Stream& stream, const BlendBackwardArguments& a)
{
    if (a.gradDepth || a.gradNormal)
        runBlendBackward<true>(stream, a);
    else
        runBlendBackward<false>(stream, a);
}

} // namespace

} // namespace vergence::sugar
