#pragma once

// The CUDA drivers of the separable operator, included by table_tiles.cpp. Tiles of 16 × 16 pixels
// or texels; the forward pass stages the table entries of a tile in shared memory, the adjoint
// gathers through the inverted tables, so nothing is atomic and results repeat. Taps are read by
// hand: the texture unit's 8-bit weights would break the adjoint identity.

#include "core/compute/launch.h"
#include "plugins/light_field/compute/partial_sums.h"
#include "plugins/light_field/compute/table_math.h"

namespace vergence::light_field {

namespace {

constexpr int kTile = 16;
constexpr int kTileThreads = kTile * kTile;
static_assert(kTileThreads == kSumThreads, "blockSum() adds up tiles");

/// The entries of sixteen neighbouring pixels of one axis.
struct StagedAxis {
    int first[kTile];
    float alpha[kTile], lenslet2[kTile], aperture2[kTile];

    __device__ void stage(const AxisView<float>& view, Index base, int begin, int end, int thread)
    {
        if (thread < 0 || thread >= kTile)
            return;
        const bool inside = begin + thread < end;
        const Index at = base + (inside ? begin + thread : begin);
        first[thread] = view.first[at];
        alpha[thread] = view.alpha[at];
        lenslet2[thread] = inside ? view.lenslet2[at] : HUGE_VALF;
        aperture2[thread] = view.aperture2[at];
    }
};

/// Adds the four texels around one ray, the upper and lower ones weighted as told.
template <int L>
__device__ void addStagedRay(const float* __restrict__ plane, int panel, int r0, float upperShare,
                             float lowerShare, int q0, float alpha, float* sum)
{
    const float* upper = plane + (static_cast<Index>(r0) * panel + q0) * L;
    const float* lower = upper + static_cast<Index>(panel) * L;
    const float w00 = upperShare * (1 - alpha), w01 = upperShare * alpha,
                w10 = lowerShare * (1 - alpha), w11 = lowerShare * alpha;
    for (int lane = 0; lane < L; ++lane) {
        sum[lane] += w00 * __ldg(upper + lane) + w01 * __ldg(upper + L + lane) +
                     w10 * __ldg(lower + lane) + w11 * __ldg(lower + L + lane);
    }
}

/// One pixel per thread, one state per layer of the grid. partial is [blocks, 2 L].
template <int L>
__global__ void __launch_bounds__(kTileThreads)
    forwardTile(ForwardArguments<float> a, double* partial)
{
    __shared__ StagedAxis rows, columns;
    __shared__ double shared[kTileThreads / 32];
    const TableView<float>& t = a.tables;
    const int w = t.resolution, state = static_cast<int>(blockIdx.z);
    const int column = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
    const int row = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.y);
    const int thread = static_cast<int>(threadIdx.y) * kTile + static_cast<int>(threadIdx.x);
    const bool isMember = row < w && column < w && (row + state) % a.rows.count == a.rows.index;
    const Index planeSize = static_cast<Index>(t.panel) * t.panel * L;
    float sum[L] = {};
    for (int k = a.firstPlane; k < a.firstPlane + a.planeCount; ++k) {
        const float gain = isMember ? t.gainAt(state, k, row, column) : 0.0f;
        for (int m = 0; m < t.samples; ++m) {
            const Index base = t.at(state, k, m);
            __syncthreads();
            rows.stage(t.y, base, static_cast<int>(blockIdx.y) * kTile, w, thread);
            columns.stage(t.x, base, static_cast<int>(blockIdx.x) * kTile, w, thread - kTile);
            __syncthreads();
            const int i = static_cast<int>(threadIdx.y), j = static_cast<int>(threadIdx.x);
            const bool passes =
                rows.lenslet2[i] + columns.lenslet2[j] <= t.lensletLimit2 &&
                (!t.hasAperture || rows.aperture2[i] + columns.aperture2[j] <= t.apertureLimit2);
            if (isMember && passes) {
                const float beta = rows.alpha[i];
                addStagedRay<L>(a.x + k * planeSize, t.panel, rows.first[i], (1 - beta) * gain,
                                beta * gain, columns.first[j], columns.alpha[j], sum);
            }
        }
    }
    const Index pixel = (static_cast<Index>(state) * w + row) * w + column;
    const float omega = isMember && a.target && a.weights ? a.weights[pixel] : 1.0f;
    const Index block =
        (static_cast<Index>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    for (int lane = 0; lane < L; ++lane) {
        double square = 0;
        if (isMember) {
            const float value = sum[lane] * t.scale;
            a.images[pixel * L + lane] = value;
            if (a.target) {
                const float difference = value - a.target[pixel * L + lane];
                a.residual[pixel * L + lane] = omega * difference;
                square = static_cast<double>(difference) * static_cast<double>(difference);
            }
        }
        if (!a.target)
            continue;
        const double squared = blockSum(square, thread, shared);
        const double weighted = blockSum(square * static_cast<double>(omega), thread, shared);
        if (thread == 0) {
            partial[block * 2 * L + lane] = squared;
            partial[block * 2 * L + L + lane] = weighted;
        }
    }
}

/// Blocks of a multiprocessor that leave a thread registers enough; nvcc aims at four, and spills.
template <int L>
constexpr int kAdjointBlocks = L == 4 ? 4 : 3;

/// One texel per thread, one plane per layer of the grid: gradient, update and sums.
template <int L, bool HasGains>
__global__ void __launch_bounds__(kTileThreads, kAdjointBlocks<L>)
    adjointTile(AdjointArguments<float> a, TexelSums* partial)
{
    __shared__ double shared[kTileThreads / 32];
    const int r = a.tables.panel, plane = static_cast<int>(blockIdx.z);
    const int column = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
    const int row = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.y);
    const int thread = static_cast<int>(threadIdx.y) * kTile + static_cast<int>(threadIdx.x);
    TexelSums sums{};
    if (row < r && column < r) {
        float gradient[L] = {};
        gatherTexel<float, L, HasGains>(a, plane, row, column, gradient);
        const Index texel = (static_cast<Index>(plane) * r + row) * r + column;
        for (int lane = 0; lane < L; ++lane)
            updateValue<float>(a.update, texel, L, lane, gradient[lane] * a.tables.scale, sums);
    }
    const Index block =
        (static_cast<Index>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    TexelSums total{};
    for (int lane = 0; lane < L; ++lane)
        total.restart[lane] = blockSum(sums.restart[lane], thread, shared);
    total.gradientSquared = blockSum(sums.gradientSquared, thread, shared);
    total.atZero = blockSum(sums.atZero, thread, shared);
    total.atOne = blockSum(sums.atOne, thread, shared);
    if (thread == 0)
        partial[block] = total;
}

dim3 tileGrid(int side, int layers)
{
    const auto tiles = static_cast<unsigned>((side + kTile - 1) / kTile);
    return {tiles, tiles, static_cast<unsigned>(layers)};
}

template <int L>
void runForward(Stream& stream, const ForwardArguments<float>& a)
{
    const TableView<float>& t = a.tables;
    const dim3 grid = tileGrid(t.resolution, t.states);
    const Index blocks = static_cast<Index>(grid.x) * grid.y * grid.z;
    const Temporary memory(stream, blocks * 2 * L, sizeof(double));
    auto* partial = static_cast<double*>(memory.data());
    if (a.target && a.rows.count > 1) {
        const Index values = static_cast<Index>(t.states) * t.resolution * t.resolution * L;
        stream.fillBytes(a.residual, 0, static_cast<std::size_t>(values) * sizeof(float));
    }
    forwardTile<L>
        <<<grid, dim3(kTile, kTile), 0, static_cast<cudaStream_t>(stream.native())>>>(a, partial);
    checkLaunch(stream, "light_field.forwardTiles");
    if (a.target)
        sumColumns(stream, partial, blocks, 2 * L, a.sums);
}

template <int L>
void runAdjoint(Stream& stream, const AdjointArguments<float>& a)
{
    const dim3 grid = tileGrid(a.tables.panel, a.tables.planes);
    const Index blocks = static_cast<Index>(grid.x) * grid.y * grid.z;
    const Temporary memory(stream, blocks, sizeof(TexelSums));
    auto* partial = static_cast<TexelSums*>(memory.data());
    const auto tile = a.tables.gain ? adjointTile<L, true> : adjointTile<L, false>;
    tile<<<grid, dim3(kTile, kTile), 0, static_cast<cudaStream_t>(stream.native())>>>(a, partial);
    checkLaunch(stream, "light_field.adjointTiles");
    reduceInto(stream, blocks, ReadTexelSums{partial}, AddTexelSums{}, TexelSums{}, a.sums);
}

} // namespace

} // namespace vergence::light_field
