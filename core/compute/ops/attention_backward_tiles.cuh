#pragma once

// CUDA driver of the derivative of attention: one pass for gradQ with a block per query tile, one
// for gradK and gradV with a block per key tile (FlashAttention-2, 2023, algorithm 2, in two passes
// so that no sum needs an atomic).

#include "core/compute/ops/attention_forward_tiles.cuh"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_tiles {

/// delta = Σ gradO ⊙ o; a warp per query and head.
template <class T>
__global__ void __launch_bounds__(kThreads) deltaRows(AttentionProblem p, Index rows)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const Index row = static_cast<Index>(blockIdx.x) * kWarps + threadIdx.x / 32;
    if (row >= rows)
        return;
    const Index query = row % p.queries, h = row / p.queries % p.heads;
    const Index b = row / p.queries / p.heads;
    const T *o = p.o.at<const T>(b, query, h), *gradO = p.gradO.at<const T>(b, query, h);
    float sum = 0;
    for (Index j = lane; j < p.size; j += 32)
        sum = fmaf(static_cast<float>(o[j]), static_cast<float>(gradO[j]), sum);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0)
        static_cast<float*>(p.delta)[row] = sum;
}

/// What makes a query saw nothing give probabilities of 0: +∞ instead of −∞; in units of ln 2.
inline __device__ float shiftOf(float logSumExp)
{
    return logSumExp == -INFINITY ? INFINITY : logSumExp * kLog2e;
}

/// Blocks of a multiprocessor that leave a thread registers enough: in F32 nvcc aims at more of
/// them and spills. 0: as many as it thinks right.
template <class T>
inline constexpr int kQueryBlocks = std::is_same_v<T, float> ? 3 : 0;
template <class T, int D>
inline constexpr int kKeyBlocks = std::is_same_v<T, float> ? (D == 64 ? 2 : 3) : 0;

template <class T, int D>
__global__ void __launch_bounds__(kThreads, kQueryBlocks<T>) gradQueryTile(AttentionProblem p)
{
    using Engine = EngineOf<T, D>;
    extern __shared__ __align__(16) unsigned char memory[];
    T* q = reinterpret_cast<T*>(memory);
    T* gradO = q + Engine::kRows * Engine::kStride;
    T *k = gradO + Engine::kRows * Engine::kStride, *v = k + kColumns * Engine::kStride;
    T* room = v + kColumns * Engine::kStride;
    const Index tiles = (p.queries + Engine::kRows - 1) / Engine::kRows;
    const Index first = (tiles - 1 - blockIdx.x % tiles) * Engine::kRows;
    const Index h = blockIdx.x / tiles % p.heads, b = blockIdx.x / tiles / p.heads;
    const Index left = p.queries - first, count = left < Engine::kRows ? left : Engine::kRows;
    const Index begin = p.mask.range(b, first).first, end = p.mask.range(b, first + count - 1).last;
    KeyRange seen[Engine::kRowsPerThread];
    rangesOf<Engine>(seen, p, b, first);
    float shift[Engine::kRowsPerThread], delta[Engine::kRowsPerThread];
#pragma unroll
    for (int i = 0; i < Engine::kRowsPerThread; ++i) {
        const bool isThere = Engine::row(i) < count;
        const Index row = p.rowOf(b, h, first + Engine::row(i));
        shift[i] = isThere ? shiftOf(static_cast<const float*>(p.logSumExp)[row]) : INFINITY;
        delta[i] = isThere ? static_cast<const float*>(p.delta)[row] : 0.0f;
    }
    typename Engine::Sums sums{};
    loadTile<T, D, Engine::kStride>(q, p.q, b, first, count, h, p.size, Engine::kRows);
    loadTile<T, D, Engine::kStride>(gradO, p.gradO, b, first, count, h, p.size, Engine::kRows);
    for (Index key = begin; key < end; key += kColumns) {
        __syncthreads();
        loadTile<T, D, Engine::kStride>(k, p.k, b, key, end - key, h / p.group(), p.size, kColumns);
        loadTile<T, D, Engine::kStride>(v, p.v, b, key, end - key, h / p.group(), p.size, kColumns);
        __syncthreads();
        typename Engine::Scores scores, gradP;
        Engine::dot(scores, q, k);
        finishScores<Engine>(scores, p, b, h, first, key, seen);
        Engine::dot(gradP, gradO, v);
#pragma unroll
        for (int i = 0; i < Engine::kRowsPerThread; ++i) {
#pragma unroll
            for (int j = 0; j < Engine::kColumnsPerThread; ++j)
                scores.v[i][j] = exp2f(scores.v[i][j] - shift[i]) * (gradP.v[i][j] - delta[i]) *
                                 static_cast<float>(p.scale);
        }
        Engine::add(sums, scores, room, k);
    }
    float ones[Engine::kRowsPerThread];
#pragma unroll
    for (float& one : ones)
        one = 1;
    storeSums<T, Engine>(sums, ones, p.gradQ, b, first, count, h, p.size);
}

/// What a tile of queries brings to the keys.
struct QueryFacts {
    KeyRange seen[kColumns];
    float shift[kColumns], delta[kColumns];

    __device__ void load(const AttentionProblem& p, Index b, Index h, Index first)
    {
        const Index i = threadIdx.x;
        if (i >= kColumns)
            return;
        const bool isThere = first + i < p.queries;
        const Index row = p.rowOf(b, h, first + i);
        seen[i] = isThere ? p.mask.range(b, first + i) : KeyRange{};
        shift[i] = isThere ? shiftOf(static_cast<const float*>(p.logSumExp)[row]) : INFINITY;
        delta[i] = isThere ? static_cast<const float*>(p.delta)[row] : 0.0f;
    }
};

/// Scores [key, query] to probabilities.
template <class Engine>
__device__ void finishTransposed(typename Engine::Scores& scores, const QueryFacts& facts,
                                 const AttentionProblem& p, Index b, Index h, Index firstQuery,
                                 Index firstKey)
{
    const float scale = static_cast<float>(p.scale) * kLog2e;
#pragma unroll
    for (int i = 0; i < Engine::kRowsPerThread; ++i) {
        const Index key = firstKey + Engine::row(i);
#pragma unroll
        for (int j = 0; j < Engine::kColumnsPerThread; ++j) {
            const int column = Engine::column(j);
            float s = scores.v[i][j] * scale - facts.shift[column];
            const bool isSeen = key >= facts.seen[column].first && key < facts.seen[column].last;
            if (isSeen && p.bias.data)
                s += *p.bias.at<float>(b, h, firstQuery + column, key) * kLog2e;
            scores.v[i][j] = isSeen ? exp2f(s) : 0.0f;
        }
    }
}

template <class T, int D>
__global__ void __launch_bounds__(kThreads, kKeyBlocks<T, D>) gradKeyTile(AttentionProblem p)
{
    using Engine = EngineOf<T, D>;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ QueryFacts facts;
    T* k = reinterpret_cast<T*>(memory);
    T* v = k + Engine::kRows * Engine::kStride;
    T *q = v + Engine::kRows * Engine::kStride, *gradO = q + kColumns * Engine::kStride;
    T* room = gradO + kColumns * Engine::kStride;
    const Index tiles = (p.keys + Engine::kRows - 1) / Engine::kRows;
    const Index first = blockIdx.x % tiles * Engine::kRows;
    const Index keyHead = blockIdx.x / tiles % p.keyHeads, b = blockIdx.x / tiles / p.keyHeads;
    const Index left = p.keys - first, count = left < Engine::kRows ? left : Engine::kRows;
    typename Engine::Sums sumK{}, sumV{};
    loadTile<T, D, Engine::kStride>(k, p.k, b, first, count, keyHead, p.size, Engine::kRows);
    loadTile<T, D, Engine::kStride>(v, p.v, b, first, count, keyHead, p.size, Engine::kRows);
    for (Index h = keyHead * p.group(); h < (keyHead + 1) * p.group(); ++h) {
        for (Index query = 0; query < p.queries; query += kColumns) {
            const Index last = query + kColumns < p.queries ? query + kColumns : p.queries;
            if (p.mask.range(b, query).first >= first + count ||
                p.mask.range(b, last - 1).last <= first)
                continue;
            __syncthreads();
            facts.load(p, b, h, query);
            loadTile<T, D, Engine::kStride>(q, p.q, b, query, last - query, h, p.size, kColumns);
            loadTile<T, D, Engine::kStride>(gradO, p.gradO, b, query, last - query, h, p.size,
                                            kColumns);
            __syncthreads();
            typename Engine::Scores scores, gradP;
            Engine::dot(scores, k, q);
            finishTransposed<Engine>(scores, facts, p, b, h, query, first);
            Engine::add(sumV, scores, room, gradO);
            Engine::dot(gradP, v, gradO);
#pragma unroll
            for (int i = 0; i < Engine::kRowsPerThread; ++i) {
#pragma unroll
                for (int j = 0; j < Engine::kColumnsPerThread; ++j)
                    scores.v[i][j] *= (gradP.v[i][j] - facts.delta[Engine::column(j)]) *
                                      static_cast<float>(p.scale);
            }
            Engine::add(sumK, scores, room, q);
        }
    }
    float ones[Engine::kRowsPerThread];
#pragma unroll
    for (float& one : ones)
        one = 1;
    storeSums<T, Engine>(sumK, ones, p.gradK, b, first, count, keyHead, p.size);
    storeSums<T, Engine>(sumV, ones, p.gradV, b, first, count, keyHead, p.size);
}

template <class T>
void backward(Stream& stream, const AttentionProblem& p)
{
    withTileWidth(p.size, [&](auto width) {
        using Engine = EngineOf<T, width()>;
        constexpr std::size_t kBytes = sharedBytes<Engine>(2, 2);
        // the facts of queries lie in shared memory too
        const AttentionTiles tiles{"the derivative of attention", p.type, p.size,
                                   kBytes + sizeof(QueryFacts)};
        if (!usesTiles(tiles, currentOffer())) {
            attention_plain::backward<T>(stream, p);
            return;
        }
        const Index rows = p.batches * p.heads * p.queries;
        const Index queryTiles = (p.queries + Engine::kRows - 1) / Engine::kRows;
        const Index keyTiles = (p.keys + Engine::kRows - 1) / Engine::kRows;
        launchTiles(stream, "attention: delta", deltaRows<T>, (rows + kWarps - 1) / kWarps, 0, p,
                    rows);
        launchTiles(stream, "attention: gradQ", gradQueryTile<T, width()>,
                    p.batches * p.heads * queryTiles, kBytes, p);
        launchTiles(stream, "attention: gradK, gradV", gradKeyTile<T, width()>,
                    p.batches * p.keyHeads * keyTiles, kBytes, p);
    });
}

} // namespace attention_tiles
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
