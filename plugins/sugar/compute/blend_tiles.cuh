#pragma once

// The CUDA driver of blending: one block per tile, one thread per pixel, splats staged in shared
// memory. The sums of the backward pass are reduced in warps; the eight warps of a tile add theirs
// atomically, so that the order of those eight, and with it the last bits, may vary.

#include "core/compute/launch.h"
#include "plugins/sugar/compute/blend_math.h"
#include "plugins/sugar/compute/tile_math.h"

namespace vergence::sugar {

namespace {

struct PixelOf {
    int x, y; ///< in the picture
    bool isInside;
    Index at;

    __device__ explicit PixelOf(const BlendArguments& a)
        : x(static_cast<int>(blockIdx.x) % a.tilesX * kTile +
            static_cast<int>(threadIdx.x) % kTile),
          y((static_cast<int>(blockIdx.x) / a.tilesX + a.firstRow) * kTile +
            static_cast<int>(threadIdx.x) / kTile),
          isInside(x < a.width && y - a.firstRow * kTile < a.height),
          at(static_cast<Index>(y - a.firstRow * kTile) * a.width + x)
    {
    }
};

struct PixelSample {
    float dx, dy, raw, alpha;
    bool isHit;

    __device__ PixelSample(const Splat& s, const PixelOf& pixel)
        : dx(s.u - (static_cast<float>(pixel.x) + 0.5F)),
          dy(s.v - (static_cast<float>(pixel.y) + 0.5F))
    {
        const float e = s.level - ((s.a * dx + s.b * dy) * dx + s.c * dy * dy);
        isHit = e >= kLevelCut && e <= s.level;
        raw = isHit ? exp2f(e) : 0.0F;
        alpha = fminf(raw, kAlphaCap);
    }
};

__device__ inline float channelOf(const Splat& splat, int k)
{
    return k < 3 ? splat.colour[k] : k == 3 ? splat.depth : splat.normal[k - 4];
}

template <bool Geometry>
__global__ void __launch_bounds__(kTilePixels) blendTile(BlendArguments a)
{
    constexpr int kChannels = Geometry ? 7 : 3;
    __shared__ Splat staged[kTilePixels];
    const PixelOf pixel(a);
    const unsigned begin = a.starts[blockIdx.x], end = a.starts[blockIdx.x + 1];
    float transmittance = 1, x[kChannels] = {};
    int count = 0, last = -1;
    bool isDone = !pixel.isInside;
    for (unsigned base = begin; base < end; base += kTilePixels) {
        if (__syncthreads_count(isDone) == kTilePixels)
            break;
        if (base + threadIdx.x < end)
            staged[threadIdx.x] = a.splats[a.gaussians[base + threadIdx.x]];
        __syncthreads();
        const int batch = static_cast<int>(min(end - base, static_cast<unsigned>(kTilePixels)));
        for (int i = 0; i < batch && !isDone; ++i) {
            const PixelSample sample(staged[i], pixel);
            const float weight = sample.alpha * transmittance, after = transmittance - weight;
            if (!sample.isHit)
                continue;
            isDone = after <= kTransmittanceStop;
            if (isDone)
                break;
            for (int k = 0; k < kChannels; ++k)
                x[k] += weight * channelOf(staged[i], k);
            transmittance = after;
            last = static_cast<int>(base - begin) + i;
            ++count;
        }
    }
    if (a.last)
        a.last[static_cast<Index>(blockIdx.x) * kTilePixels + threadIdx.x] = last;
    if (!pixel.isInside)
        return;
    const Index pixels = static_cast<Index>(a.width) * a.height;
    for (int k = 0; k < 3; ++k)
        a.images.colour[k * pixels + pixel.at] = x[k] + transmittance * a.background[k];
    a.images.transmittance[pixel.at] = transmittance;
    a.images.contributors[pixel.at] = count;
    if constexpr (Geometry) {
        a.images.depth[pixel.at] = x[3];
        for (int k = 0; k < 3; ++k)
            a.images.normal[k * pixels + pixel.at] = x[4 + k];
    }
}

template <int N>
__device__ void addToRecord(const float* sums, SplatRecord* record)
{
    for (int k = 0; k < N; ++k) {
        float value = sums[k];
        for (int step = 16; step > 0; step /= 2)
            value += __shfl_down_sync(0xffffffffu, value, step);
        if (threadIdx.x % 32 == 0)
            atomicAdd(reinterpret_cast<float*>(record) + k, value);
    }
}

template <bool Geometry>
__global__ void __launch_bounds__(kTilePixels) blendTileBackward(BlendBackwardArguments a)
{
    constexpr int kChannels = Geometry ? 7 : 3;
    __shared__ Splat staged[kTilePixels];
    const BlendArguments& f = a.forward;
    const PixelOf pixel(f);
    const Index pixels = static_cast<Index>(f.width) * f.height;
    const unsigned begin = f.starts[blockIdx.x], end = f.starts[blockIdx.x + 1];
    const int last = f.last[static_cast<Index>(blockIdx.x) * kTilePixels + threadIdx.x];
    float g[kChannels] = {};
    BackwardPixel<float> state{1, 0};
    if (pixel.isInside) {
        float sum = a.gradCoverage ? -a.gradCoverage[pixel.at] : 0.0F;
        for (int k = 0; k < 3; ++k) {
            g[k] = a.gradColour ? a.gradColour[k * pixels + pixel.at] : 0.0F;
            sum += f.background[k] * g[k];
            if constexpr (Geometry)
                g[4 + k] = a.gradNormal ? a.gradNormal[k * pixels + pixel.at] : 0.0F;
        }
        if constexpr (Geometry)
            g[3] = a.gradDepth ? a.gradDepth[pixel.at] : 0.0F;
        state.transmittance = f.images.transmittance[pixel.at];
        state.behind = state.transmittance * sum;
    }
    for (unsigned stop = end; stop > begin;) {
        const unsigned base = stop - begin > kTilePixels ? stop - kTilePixels : begin;
        __syncthreads();
        if (base + threadIdx.x < stop)
            staged[threadIdx.x] = f.splats[f.gaussians[base + threadIdx.x]];
        __syncthreads();
        for (int i = static_cast<int>(stop - base); i-- > 0;) {
            const PixelSample sample(staged[i], pixel);
            const bool isUsed = sample.isHit && static_cast<int>(base - begin) + i <= last;
            if (!__any_sync(0xffffffffu, isUsed))
                continue;
            float sums[15] = {};
            if (isUsed) {
                float e = 0, weight = 0;
                for (int k = 0; k < kChannels; ++k)
                    e += g[k] * channelOf(staged[i], k);
                const float gradAlpha = state.step(sample.alpha, e, weight);
                for (int k = 0; k < kChannels; ++k)
                    sums[6 + k] = weight * g[k];
                const float q = sample.raw <= kAlphaCap ? -sample.raw * gradAlpha : 0.0F;
                const float qx = q * sample.dx, qy = q * sample.dy;
                sums[0] = q;
                sums[1] = qx;
                sums[2] = qy;
                sums[3] = qx * sample.dx;
                sums[4] = qx * sample.dy;
                sums[5] = qy * sample.dy;
                constexpr float kLn2 = 0.693147181F;
                sums[13] = fabsf(kLn2 * (2 * staged[i].a * qx + staged[i].b * qy));
                sums[14] = fabsf(kLn2 * (staged[i].b * qx + 2 * staged[i].c * qy));
            }
            SplatRecord* record = a.records + a.entrySlots[base + static_cast<unsigned>(i)];
            addToRecord<6 + kChannels>(sums, record);
            if (a.absolute)
                addToRecord<2>(sums + 13, reinterpret_cast<SplatRecord*>(&record->absoluteU));
        }
        stop = base;
    }
}

void blendBody(Stream& stream, const BlendArguments& a)
{
    const auto tiles = static_cast<unsigned>(a.lastTile - a.firstTile);
    const auto native = static_cast<cudaStream_t>(stream.native());
    if (a.images.depth)
        blendTile<true><<<tiles, kTilePixels, 0, native>>>(a);
    else
        blendTile<false><<<tiles, kTilePixels, 0, native>>>(a);
    checkLaunch(stream, "sugar.blend");
}

void blendBackwardBody(Stream& stream, const BlendBackwardArguments& a)
{
    const auto tiles = static_cast<unsigned>(a.forward.lastTile - a.forward.firstTile);
    const auto native = static_cast<cudaStream_t>(stream.native());
    stream.fillBytes(a.records, 0, static_cast<std::size_t>(a.instances) * sizeof(SplatRecord));
    if (a.gradDepth || a.gradNormal)
        blendTileBackward<true><<<tiles, kTilePixels, 0, native>>>(a);
    else
        blendTileBackward<false><<<tiles, kTilePixels, 0, native>>>(a);
    checkLaunch(stream, "sugar.blendBackward");
}

} // namespace

} // namespace vergence::sugar
