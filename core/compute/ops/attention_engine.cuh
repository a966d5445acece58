#pragma once

// For the CUDA build of kernel files: products of tiles in shared memory by a block of 128 threads.
// Two engines with one interface: plain multiply-adds for F32, matrix instructions for F16 and BF16
// (m16n8k16 of the PTX manual, compute capability 8.0). Tiles hold rows of D numbers, kStride
// apart. A thread owns the scores (row(i), column(j)) and the sums (row(i), sumColumn(c)); the
// lanes that share a row are neighbours, kLanesPerRow of them.

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/compute/launch.h"
#include "core/compute/ops/attention_math.h"
#include "core/compute/ops/attention_tiles.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_tiles {

inline constexpr int kThreads = 128;
/// Columns of a tile of scores.
inline constexpr int kColumns = 32;

/// Thread t has the rows t / 8 + 16 i, the score columns t % 8 + 8 j, and four neighbouring sums at
/// 4 (t % 8) + 32 c.
template <int D>
struct PlainEngine {
    using Element = float;
    static constexpr int kRowsPerThread = D <= 64 ? 4 : 2, kRows = 16 * kRowsPerThread;
    static constexpr int kColumnsPerThread = kColumns / 8, kSumsPerThread = D / 8;
    static constexpr int kStride = D + 4; ///< rows of eight lanes hit different banks
    static constexpr int kLanesPerRow = 8;
    static constexpr int kRoomStride = kColumns + 4, kRoom = kRows * kRoomStride;

    struct Scores {
        float v[kRowsPerThread][kColumnsPerThread];
    };
    struct Sums {
        float v[kRowsPerThread][kSumsPerThread];
    };

    static __device__ int row(int i) { return static_cast<int>(threadIdx.x) / 8 + 16 * i; }
    static __device__ int column(int j) { return static_cast<int>(threadIdx.x) % 8 + 8 * j; }
    static __device__ int sumColumn(int c)
    {
        return 4 * (static_cast<int>(threadIdx.x) % 8) + 32 * (c / 4) + c % 4;
    }

    /// scores = a · bᵀ; a: kRows rows, b: kColumns rows.
    static __device__ void dot(Scores& scores, const float* a, const float* b)
    {
        scores = {};
#pragma unroll 4
        for (int d = 0; d < D; d += 4) {
            float4 x[kRowsPerThread], y[kColumnsPerThread];
#pragma unroll
            for (int i = 0; i < kRowsPerThread; ++i)
                x[i] = *reinterpret_cast<const float4*>(a + row(i) * kStride + d);
#pragma unroll
            for (int j = 0; j < kColumnsPerThread; ++j)
                y[j] = *reinterpret_cast<const float4*>(b + column(j) * kStride + d);
#pragma unroll
            for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
                for (int j = 0; j < kColumnsPerThread; ++j) {
                    float& s = scores.v[i][j];
                    s = fmaf(x[i].x, y[j].x, s);
                    s = fmaf(x[i].y, y[j].y, s);
                    s = fmaf(x[i].z, y[j].z, s);
                    s = fmaf(x[i].w, y[j].w, s);
                }
            }
        }
    }

    /// sums += weights · b; b: kColumns rows. `room` holds kRoom numbers; rows of it are written
    /// and read by one warp only.
    static __device__ void add(Sums& sums, const Scores& weights, float* room, const float* b)
    {
        __syncwarp();
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
            for (int j = 0; j < kColumnsPerThread; ++j)
                room[row(i) * kRoomStride + column(j)] = weights.v[i][j];
        }
        __syncwarp();
#pragma unroll 2
        for (int k = 0; k < kColumns; k += 4) {
            float4 w[kRowsPerThread];
#pragma unroll
            for (int i = 0; i < kRowsPerThread; ++i)
                w[i] = *reinterpret_cast<const float4*>(room + row(i) * kRoomStride + k);
#pragma unroll
            for (int c = 0; c < kSumsPerThread; c += 4) {
                const float* from = b + k * kStride + sumColumn(c);
                const float4 y0 = *reinterpret_cast<const float4*>(from);
                const float4 y1 = *reinterpret_cast<const float4*>(from + kStride);
                const float4 y2 = *reinterpret_cast<const float4*>(from + 2 * kStride);
                const float4 y3 = *reinterpret_cast<const float4*>(from + 3 * kStride);
#pragma unroll
                for (int i = 0; i < kRowsPerThread; ++i) {
                    addFour(sums.v[i] + c, w[i].x, y0);
                    addFour(sums.v[i] + c, w[i].y, y1);
                    addFour(sums.v[i] + c, w[i].z, y2);
                    addFour(sums.v[i] + c, w[i].w, y3);
                }
            }
        }
    }

private:
    static __device__ void addFour(float* sums, float weight, const float4& y)
    {
        sums[0] = fmaf(weight, y.x, sums[0]);
        sums[1] = fmaf(weight, y.y, sums[1]);
        sums[2] = fmaf(weight, y.z, sums[2]);
        sums[3] = fmaf(weight, y.w, sums[3]);
    }
};

/// Warp w has the rows 16 w … 16 w + 15; within it, with g = lane / 4 and t = lane % 4, a thread
/// has the rows g and g + 8 and, of every eight columns, 2 t and 2 t + 1.
template <class T, int D>
struct MatrixEngine {
    using Element = T;
    static constexpr int kRowsPerThread = 2, kRows = 64;
    static constexpr int kColumnsPerThread = kColumns / 4, kSumsPerThread = D / 4;
    static constexpr int kStride = D + 8; ///< eight rows of 16 bytes hit different banks
    static constexpr int kLanesPerRow = 4;
    static constexpr int kRoom = 0; ///< weights stay in registers

    struct Scores {
        float v[kRowsPerThread][kColumnsPerThread];
    };
    struct Sums {
        float v[kRowsPerThread][kSumsPerThread];
    };

    static __device__ int row(int i)
    {
        return static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4 +
               8 * i;
    }
    static __device__ int column(int j)
    {
        return 8 * (j / 2) + 2 * (static_cast<int>(threadIdx.x) % 4) + j % 2;
    }
    static __device__ int sumColumn(int c) { return column(c); }

    static __device__ void dot(Scores& scores, const T* a, const T* b)
    {
        scores = {};
        const int lane = static_cast<int>(threadIdx.x) % 32, r = lane % 8, m = lane / 8;
        const T* rows =
            a + (static_cast<int>(threadIdx.x) / 32 * 16 + m % 2 * 8 + r) * kStride + m / 2 * 8;
        const T* columns = b + (m / 2 * 8 + r) * kStride + m % 2 * 8;
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            std::uint32_t x[4];
            loadMatrices<false>(x, rows + d);
#pragma unroll
            for (int n = 0; n < kColumns; n += 16) {
                std::uint32_t y[4];
                loadMatrices<false>(y, columns + n * kStride + d);
                multiply(scores.v, n / 4, x, y[0], y[1]);
                multiply(scores.v, n / 4 + 2, x, y[2], y[3]);
            }
        }
    }

    static __device__ void add(Sums& sums, const Scores& weights, T*, const T* b)
    {
        const int lane = static_cast<int>(threadIdx.x) % 32, r = lane % 8, m = lane / 8;
        const T* rows = b + (m % 2 * 8 + r) * kStride + m / 2 * 8;
#pragma unroll
        for (int k = 0; k < kColumns; k += 16) {
            const int j = k / 4;
            const std::uint32_t x[4] = {pair(weights.v[0][j], weights.v[0][j + 1]),
                                        pair(weights.v[1][j], weights.v[1][j + 1]),
                                        pair(weights.v[0][j + 2], weights.v[0][j + 3]),
                                        pair(weights.v[1][j + 2], weights.v[1][j + 3])};
#pragma unroll
            for (int n = 0; n < D; n += 16) {
                std::uint32_t y[4];
                loadMatrices<true>(y, rows + k * kStride + n);
                multiply(sums.v, n / 4, x, y[0], y[1]);
                multiply(sums.v, n / 4 + 2, x, y[2], y[3]);
            }
        }
    }

private:
    static __device__ std::uint32_t pair(float low, float high)
    {
        if constexpr (std::is_same_v<T, Float16>) {
            const __half2 both = __floats2half2_rn(low, high);
            return *reinterpret_cast<const std::uint32_t*>(&both);
        } else {
            const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
            return *reinterpret_cast<const std::uint32_t*>(&both);
        }
    }

    /// Four 8 × 8 matrices; lanes 8 m … 8 m + 7 point to the rows of matrix m.
    template <bool Transposed>
    static __device__ void loadMatrices(std::uint32_t (&x)[4], const T* row)
    {
        const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
        if constexpr (Transposed)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(at)
                         : "memory");
        else
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(at)
                         : "memory");
    }

    /// Columns j, j + 1 of both rows of the thread += x · (y0, y1).
    template <int N>
    static __device__ void multiply(float (&to)[2][N], int j, const std::uint32_t (&x)[4],
                                    std::uint32_t y0, std::uint32_t y1)
    {
#if __CUDA_ARCH__ >= 800
        if constexpr (std::is_same_v<T, Float16>)
            asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(to[0][j]), "+f"(to[0][j + 1]), "+f"(to[1][j]), "+f"(to[1][j + 1])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
        else
            asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(to[0][j]), "+f"(to[0][j + 1]), "+f"(to[1][j]), "+f"(to[1][j + 1])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
#else
        __trap(); // the host takes the plain kernels on such devices
#endif
    }
};

template <class T, int D>
using EngineOf = std::conditional_t<std::is_same_v<T, float>, PlainEngine<D>, MatrixEngine<T, D>>;

/// Rows [first, first + rows) of a tensor into a tile; zeros for rows from `count` on and numbers
/// from `size` on.
template <class T, int D, int Stride>
__device__ void loadTile(T* tile, const AttentionRows& from, Index b, Index first, Index count,
                         Index h, Index size, int rows)
{
    constexpr int kChunk = 16 / static_cast<int>(sizeof(T)), kChunks = D / kChunk;
    for (int i = static_cast<int>(threadIdx.x); i < rows * kChunks; i += kThreads) {
        const int row = i / kChunks, j = i % kChunks * kChunk;
        T* to = tile + row * Stride + j;
        if (row < count) {
            const T* source = from.at<const T>(b, first + row, h) + j;
            if (j + kChunk <= size && reinterpret_cast<std::uintptr_t>(source) % 16 == 0) {
                *reinterpret_cast<int4*>(to) = *reinterpret_cast<const int4*>(source);
                continue;
            }
            for (int e = 0; e < kChunk; ++e)
                to[e] = j + e < size ? source[e] : T(0.0f);
        } else {
            *reinterpret_cast<int4*>(to) = int4{0, 0, 0, 0};
        }
    }
}

/// Combines a value over the lanes that share a row.
template <class Engine, class Combine>
__device__ float acrossRow(float value, const Combine& combine)
{
#pragma unroll
    for (int step = Engine::kLanesPerRow / 2; step > 0; step /= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}

/// Writes sums · factor[i] as rows of a tensor.
template <class T, class Engine>
__device__ void storeSums(const typename Engine::Sums& sums,
                          const float (&factor)[Engine::kRowsPerThread], const AttentionRows& to,
                          Index b, Index first, Index count, Index h, Index size)
{
#pragma unroll
    for (int i = 0; i < Engine::kRowsPerThread; ++i) {
        if (Engine::row(i) >= count)
            continue;
        T* row = to.at<T>(b, first + Engine::row(i), h);
#pragma unroll
        for (int c = 0; c < Engine::kSumsPerThread; ++c) {
            if (Engine::sumColumn(c) < size)
                row[Engine::sumColumn(c)] = static_cast<T>(sums.v[i][c] * factor[i]);
        }
    }
}

/// Calls run(std::integral_constant<int, D>) with the tile width for heads of `size` numbers.
template <class Run>
void withTileWidth(Index size, const Run& run)
{
    if (size <= 32)
        run(std::integral_constant<int, 32>{});
    else if (size <= 64)
        run(std::integral_constant<int, 64>{});
    else if (size <= 96)
        run(std::integral_constant<int, 96>{});
    else
        run(std::integral_constant<int, 128>{});
}

/// What the current device offers to a block.
inline BlockOffer currentOffer()
{
    int device = 0, most = 0, major = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        throw DeviceError("attention: the device cannot be asked for its shared memory");
    return {static_cast<std::size_t>(most), major};
}

/// Launches a kernel of kThreads threads per block.
template <class... Arguments, class... Given>
void launchTiles(Stream& stream, const char* what, void (*kernel)(Arguments...), Index blocks,
                 std::size_t bytes, const Given&... given)
{
    if (blocks <= 0)
        return;
    if (bytes > 48 * 1024 &&
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)) != cudaSuccess)
        throw DeviceError(std::string(what) + ": the device refuses the shared memory it offers");
    kernel<<<static_cast<unsigned>(blocks), kThreads, bytes,
             static_cast<cudaStream_t>(stream.native())>>>(given...);
    checkLaunch(stream, what);
}

} // namespace attention_tiles
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
