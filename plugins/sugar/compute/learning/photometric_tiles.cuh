#pragma once

// The CUDA driver of the photometric loss, included by photometric_kernels.cpp. Tiles of 32 × 16
// pixels of one channel: a first kernel blurs the moments in shared memory and leaves the
// derivatives of similarity behind, a second one blurs these and writes the gradient. Nothing is
// atomic, so results repeat.

#include "core/compute/launch.h"
#include "plugins/sugar/compute/learning/photometric_kernels.h"

namespace vergence::sugar {

namespace {

constexpr int kTileWidth = 32, kTileHeight = 16, kTileThreads = 256;
constexpr int kStagedWidth = kTileWidth + 2 * kSsimReach;
constexpr int kStagedHeight = kTileHeight + 2 * kSsimReach;
constexpr int kStaged = kStagedWidth * kStagedHeight;
constexpr int kBlurred = kTileWidth * kStagedHeight; ///< blurred along rows alone
constexpr int kPixels = kTileWidth * kTileHeight;

/// Rows whose similarity is needed, and the parts of the scratch memory.
struct TilePlan {
    Index firstRow, rows; ///< of the derivatives
    Index across, down;
    double* partial; ///< [blocks, 4], and four for the total
    float* maps;     ///< [3 derivatives, 3 channels, rows, W]

    TilePlan(const PhotometricArguments& p, bool measures)
    {
        const Index halo = measures ? 0 : kSsimReach;
        firstRow = p.begin > halo ? p.begin - halo : 0;
        const Index last = p.end + halo < p.height ? p.end + halo : p.height;
        rows = last - firstRow;
        across = (p.width + kTileWidth - 1) / kTileWidth;
        down = (rows + kTileHeight - 1) / kTileHeight;
        partial = static_cast<double*>(p.scratch);
        maps = reinterpret_cast<float*>(partial + 4 * (blocks() + 1));
    }
    Index blocks() const { return 3 * across * down; }
    std::size_t bytes(Index width) const
    {
        return static_cast<std::size_t>(4 * (blocks() + 1)) * sizeof(double) +
               static_cast<std::size_t>(9 * rows * width) * sizeof(float);
    }
    dim3 grid() const
    {
        return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down), 3);
    }
};

/// Σ w value(i), i from 0 to 10.
template <class Value>
__device__ float windowSum(const Value& value)
{
    float sum = ssimWeight<float>(0) * value(kSsimReach);
#pragma unroll
    for (int offset = 1; offset <= kSsimReach; ++offset)
        sum +=
            ssimWeight<float>(offset) * (value(kSsimReach - offset) + value(kSsimReach + offset));
    return sum;
}

struct StagedPixel {
    float x, y;
};

/// 0 outside of the image, as the loss wants it, and in rows beyond those of the band, which a tile
/// at its end stages and does not use.
template <bool Measures>
__device__ StagedPixel readPixel(const PhotometricArguments& p, Index row, Index column)
{
    const Index channel = blockIdx.z, place = placeInX(p, channel, row, column);
    if (place < 0)
        return {0, 0};
    float x = p.x[place];
    if (Measures)
        x = fminf(fmaxf(x, 0.0f), 1.0f);
    return {x, static_cast<float>(p.photo[(row * p.width + column) * 3 + channel]) / 255.0f};
}

__device__ inline float weightOf(const PhotometricArguments& p, Index row, Index column)
{
    return p.mask ? static_cast<float>(p.mask[row * p.width + column]) : 1.0f;
}

/// What a pixel of the tile adds to the sums.
template <bool Measures>
__device__ void addPixel(const PhotometricArguments& p, Index row, Index column, float similarity,
                         const StagedPixel& pixel, double* sums)
{
    const auto weight = static_cast<double>(weightOf(p, row, column));
    sums[0] += weight * static_cast<double>(fabsf(pixel.x - pixel.y));
    sums[1] += weight * static_cast<double>(similarity);
    if (Measures) {
        const Index at = (row * p.width + column) * 3 + blockIdx.z;
        const auto value = static_cast<double>(pixel.x);
        const double error = value - static_cast<double>(pixel.y);
        const double error8 = (floor(255 * value + 0.5) - p.photo[at]) / 255;
        sums[2] += weight * error * error;
        sums[3] += weight * error8 * error8;
    }
}

/// Sums over the block in a fixed tree.
__device__ inline void sumBlock(const double* sums, double* shared, double* partial)
{
    for (int k = 0; k < 4; ++k) {
        shared[threadIdx.x] = sums[k];
        __syncthreads();
        for (unsigned step = kTileThreads / 2; step > 0; step /= 2) {
            if (threadIdx.x < step)
                shared[threadIdx.x] += shared[threadIdx.x + step];
            __syncthreads();
        }
        if (threadIdx.x == 0)
            partial[k] = shared[0];
        __syncthreads();
    }
}

__device__ inline Index blockNumber()
{
    return (static_cast<Index>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

/// The four moments, blurred along the rows of the tile and its halo.
__device__ inline void blurMoments(const StagedPixel* staged, float (*blurred)[kBlurred])
{
    for (int i = threadIdx.x; i < kBlurred; i += kTileThreads) {
        const StagedPixel* from = staged + i / kTileWidth * kStagedWidth + i % kTileWidth;
        blurred[0][i] = windowSum([&](int k) { return from[k].x; });
        blurred[1][i] = windowSum([&](int k) { return from[k].y; });
        blurred[2][i] =
            windowSum([&](int k) { return from[k].x * from[k].x + from[k].y * from[k].y; });
        blurred[3][i] = windowSum([&](int k) { return from[k].x * from[k].y; });
    }
}

template <bool Measures>
__global__ void __launch_bounds__(kTileThreads)
    compareTile(PhotometricArguments p, Index firstRow, Index rows, float* maps, double* partial)
{
    __shared__ StagedPixel staged[kStaged];
    __shared__ float blurred[4][kBlurred];
    __shared__ double shared[kTileThreads];
    const Index top = firstRow + static_cast<Index>(blockIdx.y) * kTileHeight;
    const Index left = static_cast<Index>(blockIdx.x) * kTileWidth;
    for (int i = threadIdx.x; i < kStaged; i += kTileThreads)
        staged[i] = readPixel<Measures>(p, top - kSsimReach + i / kStagedWidth,
                                        left - kSsimReach + i % kStagedWidth);
    __syncthreads();
    blurMoments(staged, blurred);
    __syncthreads();
    double sums[4] = {};
    for (int i = threadIdx.x; i < kPixels; i += kTileThreads) {
        const Index row = top + i / kTileWidth, column = left + i % kTileWidth;
        if (row >= firstRow + rows || column >= p.width)
            continue;
        float moment[4];
        for (int map = 0; map < 4; ++map)
            moment[map] = windowSum([&](int k) { return blurred[map][i + k * kTileWidth]; });
        const SsimPoint<float> point =
            ssimPoint(SsimMoments<float>{moment[0], moment[1], moment[2], moment[3]});
        if (row >= p.begin && row < p.end)
            addPixel<Measures>(
                p, row, column, point.value,
                staged[(i / kTileWidth + kSsimReach) * kStagedWidth + i % kTileWidth + kSsimReach],
                sums);
        if (!Measures) {
            const float gradient = p.ssimFactor * weightOf(p, row, column);
            const Index size = 3 * rows * p.width;
            float* to = maps + (blockIdx.z * rows + row - firstRow) * p.width + column;
            to[0] = gradient * point.byMean;
            to[size] = gradient * point.bySquare;
            to[2 * size] = gradient * point.byProduct;
        }
    }
    sumBlock(sums, shared, partial + 4 * blockNumber());
}

/// Rows [begin, end) of the gradient from the derivatives of similarity.
__global__ void __launch_bounds__(kTileThreads)
    differentiateTile(PhotometricArguments p, Index firstRow, Index rows, const float* maps)
{
    __shared__ float staged[3][kStaged];
    __shared__ float blurred[3][kBlurred];
    const Index top = p.begin + static_cast<Index>(blockIdx.y) * kTileHeight;
    const Index left = static_cast<Index>(blockIdx.x) * kTileWidth, size = 3 * rows * p.width;
    for (int i = threadIdx.x; i < kStaged; i += kTileThreads) {
        const Index row = top - kSsimReach + i / kStagedWidth - firstRow;
        const Index column = left - kSsimReach + i % kStagedWidth;
        const bool isInside = row >= 0 && row < rows && column >= 0 && column < p.width;
        const Index at = (blockIdx.z * rows + row) * p.width + column;
        for (int map = 0; map < 3; ++map)
            staged[map][i] = isInside ? maps[map * size + at] : 0.0f;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kBlurred; i += kTileThreads) {
        const int from = i / kTileWidth * kStagedWidth + i % kTileWidth;
        for (int map = 0; map < 3; ++map)
            blurred[map][i] = windowSum([&](int k) { return staged[map][from + k]; });
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kPixels; i += kTileThreads) {
        const Index row = top + i / kTileWidth, column = left + i % kTileWidth;
        if (row >= p.end || column >= p.width)
            continue;
        float by[3];
        for (int map = 0; map < 3; ++map)
            by[map] = windowSum([&](int k) { return blurred[map][i + k * kTileWidth]; });
        const StagedPixel pixel = readPixel<false>(p, row, column);
        p.gradX[(blockIdx.z * p.rows + row - p.top) * p.width + column] =
            by[0] + 2.0f * pixel.x * by[1] + pixel.y * by[2] +
            p.l1Factor * weightOf(p, row, column) * signOf(pixel.x - pixel.y);
    }
}

/// One block: the total of all blocks, each thread in order and then a fixed tree.
__global__ void __launch_bounds__(kTileThreads)
    sumTiles(const double* partial, Index blocks, double* total)
{
    __shared__ double shared[kTileThreads];
    double sums[4] = {};
    for (Index block = threadIdx.x; block < blocks; block += kTileThreads) {
        for (int k = 0; k < 4; ++k)
            sums[k] += partial[4 * block + k];
    }
    sumBlock(sums, shared, total);
}

inline std::size_t scratchBytes(const PhotometricArguments& p)
{
    return TilePlan(p, false).bytes(p.width);
}

template <bool Measures>
void runPhotometric(Stream& stream, const PhotometricArguments& p)
{
    const TilePlan plan(p, Measures);
    const auto native = static_cast<cudaStream_t>(stream.native());
    double* total = plan.partial + 4 * plan.blocks();
    compareTile<Measures><<<plan.grid(), kTileThreads, 0, native>>>(p, plan.firstRow, plan.rows,
                                                                    plan.maps, plan.partial);
    checkLaunch(stream, "photometric loss");
    if (!Measures) {
        const auto down = static_cast<unsigned>((p.end - p.begin + kTileHeight - 1) / kTileHeight);
        differentiateTile<<<dim3(static_cast<unsigned>(plan.across), down, 3), kTileThreads, 0,
                            native>>>(p, plan.firstRow, plan.rows, plan.maps);
        checkLaunch(stream, "photometric gradient");
    }
    sumTiles<<<1, kTileThreads, 0, native>>>(plan.partial, plan.blocks(), total);
    checkLaunch(stream, "photometric sums");
    double sums[4] = {};
    stream.copy(sums, total, sizeof(sums));
    stream.synchronize();
    *p.sums = {sums[0], sums[1], sums[2], sums[3]};
}

} // namespace

} // namespace vergence::sugar
