#pragma once

// CUDA driver of attention: a block per query tile (FlashAttention-2, 2023, algorithm 1), and for a
// few queries a block per query and part of the keys (Flash-Decoding, 2023).

#include "core/compute/ops/attention_engine.cuh"
#include "core/compute/ops/attention_plain.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_tiles {

inline constexpr float kLog2e = 1.44269504f, kLn2 = 0.69314718f;

struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Added {
    __device__ float operator()(float a, float b) const { return a + b; }
};

/// Running maximum (in units of ln 2), total and weighted sum of the rows of a thread.
template <class Engine>
struct Running {
    float top[Engine::kRowsPerThread], total[Engine::kRowsPerThread];
    typename Engine::Sums sums;

    __device__ void start()
    {
        sums = {};
#pragma unroll
        for (int i = 0; i < Engine::kRowsPerThread; ++i) {
            top[i] = -INFINITY;
            total[i] = 0;
        }
    }

    /// scores ← 2^(scores − maximum); what was summed so far is brought to the new maximum.
    __device__ void take(typename Engine::Scores& scores)
    {
#pragma unroll
        for (int i = 0; i < Engine::kRowsPerThread; ++i) {
            float largest = top[i];
#pragma unroll
            for (int j = 0; j < Engine::kColumnsPerThread; ++j)
                largest = fmaxf(largest, scores.v[i][j]);
            largest = acrossRow<Engine>(largest, Larger{});
            const float shift = largest == -INFINITY ? 0.0f : largest;
            const float factor = exp2f(top[i] - shift);
            top[i] = largest;
            total[i] *= factor;
#pragma unroll
            for (int j = 0; j < Engine::kColumnsPerThread; ++j) {
                scores.v[i][j] = exp2f(scores.v[i][j] - shift);
                total[i] += scores.v[i][j];
            }
#pragma unroll
            for (int c = 0; c < Engine::kSumsPerThread; ++c)
                sums.v[i][c] *= factor;
        }
    }
};

/// Scores to units of ln 2, with bias; −∞ where the query does not see the key.
template <class Engine>
__device__ void finishScores(typename Engine::Scores& scores, const AttentionProblem& p, Index b,
                             Index h, Index firstQuery, Index key,
                             const KeyRange (&seen)[Engine::kRowsPerThread])
{
    const float scale = static_cast<float>(p.scale) * kLog2e;
#pragma unroll
    for (int i = 0; i < Engine::kRowsPerThread; ++i) {
#pragma unroll
        for (int j = 0; j < Engine::kColumnsPerThread; ++j) {
            const Index at = key + Engine::column(j);
            float s = scores.v[i][j] * scale;
            const bool isSeen = at >= seen[i].first && at < seen[i].last;
            if (isSeen && p.bias.data)
                s += *p.bias.at<float>(b, h, firstQuery + Engine::row(i), at) * kLog2e;
            scores.v[i][j] = isSeen ? s : -INFINITY;
        }
    }
}

/// What the rows of a thread see; nothing for rows beyond the last query.
template <class Engine>
__device__ void rangesOf(KeyRange (&seen)[Engine::kRowsPerThread], const AttentionProblem& p,
                         Index b, Index first)
{
#pragma unroll
    for (int i = 0; i < Engine::kRowsPerThread; ++i) {
        const Index query = first + Engine::row(i);
        seen[i] = query < p.queries ? p.mask.range(b, query) : KeyRange{};
    }
}

template <class T, int D>
__global__ void __launch_bounds__(kThreads) forwardTile(AttentionProblem p)
{
    using Engine = EngineOf<T, D>;
    extern __shared__ __align__(16) unsigned char memory[];
    T* q = reinterpret_cast<T*>(memory);
    T *k = q + Engine::kRows * Engine::kStride, *v = k + kColumns * Engine::kStride;
    T* room = v + kColumns * Engine::kStride;
    const Index tiles = (p.queries + Engine::kRows - 1) / Engine::kRows;
    // the longest rows of a causal mask first
    const Index first = (tiles - 1 - blockIdx.x % tiles) * Engine::kRows;
    const Index h = blockIdx.x / tiles % p.heads, b = blockIdx.x / tiles / p.heads;
    const Index left = p.queries - first, count = left < Engine::kRows ? left : Engine::kRows;
    const Index begin = p.mask.range(b, first).first, end = p.mask.range(b, first + count - 1).last;
    KeyRange seen[Engine::kRowsPerThread];
    rangesOf<Engine>(seen, p, b, first);
    Running<Engine> running;
    running.start();
    loadTile<T, D, Engine::kStride>(q, p.q, b, first, count, h, p.size, Engine::kRows);
    for (Index key = begin; key < end; key += kColumns) {
        __syncthreads(); // the last tile has been read
        loadTile<T, D, Engine::kStride>(k, p.k, b, key, end - key, h / p.group(), p.size, kColumns);
        loadTile<T, D, Engine::kStride>(v, p.v, b, key, end - key, h / p.group(), p.size, kColumns);
        __syncthreads();
        typename Engine::Scores scores;
        Engine::dot(scores, q, k);
        finishScores<Engine>(scores, p, b, h, first, key, seen);
        running.take(scores);
        Engine::add(running.sums, scores, room, v);
    }
    float inverse[Engine::kRowsPerThread];
#pragma unroll
    for (int i = 0; i < Engine::kRowsPerThread; ++i) {
        const float total = acrossRow<Engine>(running.total[i], Added{});
        inverse[i] = total == 0 ? 0.0f : 1 / total;
        if (p.logSumExp && Engine::column(0) == 0 && Engine::row(i) < count)
            static_cast<float*>(p.logSumExp)[p.rowOf(b, h, first + Engine::row(i))] =
                total == 0 ? -INFINITY : running.top[i] * kLn2 + logf(total);
    }
    storeSums<T, Engine>(running.sums, inverse, p.o, b, first, count, h, p.size);
}

/// Keys of one part for one query; results [rows, parts, 2 + kLargestHead]: maximum, total, sums.
struct DecodePlan {
    Index parts = 1, partKeys = 0;
    float* results = nullptr;
    static constexpr Index kStride = 2 + kLargestHead;
};

inline constexpr int kWarps = kThreads / 32, kKeysAtOnce = 4;
inline constexpr int kNumbersPerLane = static_cast<int>(kLargestHead) / 32;

/// One warp's keys: every kWarps-th run of kKeysAtOnce. Lane l has the numbers l + 32 i.
template <class T>
__device__ void decodeWarp(const AttentionProblem& p, Index b, Index h, Index query, Index begin,
                           Index end, float& top, float& total, float (&sums)[kNumbersPerLane])
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const T* q = p.q.at<const T>(b, query, h);
    float x[kNumbersPerLane];
    for (int i = 0; i < kNumbersPerLane; ++i)
        x[i] = lane + 32 * i < p.size
                   ? static_cast<float>(q[lane + 32 * i]) * static_cast<float>(p.scale) * kLog2e
                   : 0.0f;
    for (Index key = begin + warp * kKeysAtOnce; key < end; key += kWarps * kKeysAtOnce) {
        float score[kKeysAtOnce], y[kKeysAtOnce][kNumbersPerLane], largest = top;
#pragma unroll
        for (int u = 0; u < kKeysAtOnce; ++u) {
            const Index at = key + u < end ? key + u : end - 1;
            const T* k = p.k.at<const T>(b, at, h / p.group());
            const T* v = p.v.at<const T>(b, at, h / p.group());
            score[u] = 0;
#pragma unroll
            for (int i = 0; i < kNumbersPerLane; ++i) {
                const bool isThere = lane + 32 * i < p.size;
                score[u] += isThere ? x[i] * static_cast<float>(k[lane + 32 * i]) : 0.0f;
                y[u][i] = isThere ? static_cast<float>(v[lane + 32 * i]) : 0.0f;
            }
        }
#pragma unroll
        for (int u = 0; u < kKeysAtOnce; ++u) {
#pragma unroll
            for (int step = 16; step > 0; step /= 2)
                score[u] += __shfl_xor_sync(0xffffffffu, score[u], step);
            if (p.bias.data && key + u < end)
                score[u] += *p.bias.at<float>(b, h, query, key + u) * kLog2e;
            score[u] = key + u < end ? score[u] : -INFINITY;
            largest = fmaxf(largest, score[u]);
        }
        const float shift = largest == -INFINITY ? 0.0f : largest, factor = exp2f(top - shift);
        top = largest;
        total *= factor;
#pragma unroll
        for (int i = 0; i < kNumbersPerLane; ++i)
            sums[i] *= factor;
#pragma unroll
        for (int u = 0; u < kKeysAtOnce; ++u) {
            const float weight = exp2f(score[u] - shift);
            total += weight;
#pragma unroll
            for (int i = 0; i < kNumbersPerLane; ++i)
                sums[i] = fmaf(weight, y[u][i], sums[i]);
        }
    }
}

template <class T>
__global__ void __launch_bounds__(kThreads) decodePart(AttentionProblem p, DecodePlan plan)
{
    __shared__ float tops[kWarps], totals[kWarps], parts[kWarps][kLargestHead];
    const Index row = blockIdx.x / plan.parts, part = blockIdx.x % plan.parts;
    const Index query = row % p.queries, h = row / p.queries % p.heads;
    const Index b = row / p.queries / p.heads;
    const KeyRange seen = p.mask.range(b, query);
    const Index partBegin = part * plan.partKeys, partEnd = partBegin + plan.partKeys;
    const Index begin = seen.first > partBegin ? seen.first : partBegin;
    const Index end = seen.last < partEnd ? seen.last : partEnd;
    float top = -INFINITY, total = 0, sums[kNumbersPerLane] = {};
    decodeWarp<T>(p, b, h, query, begin, end, top, total, sums);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    for (int i = 0; i < kNumbersPerLane; ++i)
        parts[warp][lane + 32 * i] = sums[i];
    tops[warp] = top; // equal in all lanes
    totals[warp] = total;
    __syncthreads();
    float largest = -INFINITY, all = 0, sum = 0;
    for (int w = 0; w < kWarps; ++w)
        largest = fmaxf(largest, tops[w]);
    const float shift = largest == -INFINITY ? 0.0f : largest;
    for (int w = 0; w < kWarps; ++w) {
        const float factor = exp2f(tops[w] - shift);
        all += totals[w] * factor;
        sum += parts[w][threadIdx.x] * factor;
    }
    float* result = plan.results + static_cast<Index>(blockIdx.x) * DecodePlan::kStride;
    result[2 + threadIdx.x] = sum;
    if (threadIdx.x == 0) {
        result[0] = largest;
        result[1] = all;
    }
}

template <class T>
__global__ void __launch_bounds__(kThreads) joinParts(AttentionProblem p, DecodePlan plan)
{
    const Index row = blockIdx.x, query = row % p.queries, h = row / p.queries % p.heads;
    const float* results = plan.results + row * plan.parts * DecodePlan::kStride;
    float top = -INFINITY, total = 0, sum = 0;
    for (Index part = 0; part < plan.parts; ++part)
        top = fmaxf(top, results[part * DecodePlan::kStride]);
    const float shift = top == -INFINITY ? 0.0f : top;
    for (Index part = 0; part < plan.parts; ++part) {
        const float* result = results + part * DecodePlan::kStride;
        const float factor = exp2f(result[0] - shift);
        total += result[1] * factor;
        sum += result[2 + threadIdx.x] * factor;
    }
    if (threadIdx.x < p.size)
        p.o.at<T>(row / p.queries / p.heads, query, h)[threadIdx.x] =
            static_cast<T>(total == 0 ? 0.0f : sum / total);
    if (threadIdx.x == 0 && p.logSumExp)
        static_cast<float*>(p.logSumExp)[row] = total == 0 ? -INFINITY : top * kLn2 + logf(total);
}

static_assert(kThreads == kLargestHead, "a thread per number of a head");

template <class T>
void decode(Stream& stream, const AttentionProblem& p)
{
    constexpr Index kEnoughBlocks = 528, kShortest = 64; // four per multiprocessor of a large GPU
    const Index rows = p.batches * p.heads * p.queries;
    const Index wanted = (kEnoughBlocks + rows - 1) / rows;
    const Index possible = (p.keys + kShortest - 1) / kShortest;
    DecodePlan plan;
    plan.parts = wanted < possible ? wanted : possible;
    plan.parts = plan.parts > 1 ? plan.parts : 1;
    plan.partKeys = (p.keys + plan.parts - 1) / plan.parts;
    plan.results = static_cast<float*>(stream.scratch(
        static_cast<std::size_t>(rows * plan.parts * DecodePlan::kStride) * sizeof(float)));
    launchTiles(stream, "attention of few queries", decodePart<T>, rows * plan.parts, 0, p, plan);
    launchTiles(stream, "attention: parts", joinParts<T>, rows, 0, p, plan);
}

/// Bytes of shared memory for `rowTiles` tiles of kRows rows and `columnTiles` of kColumns rows.
template <class Engine>
constexpr std::size_t sharedBytes(int rowTiles, int columnTiles)
{
    return static_cast<std::size_t>((rowTiles * Engine::kRows + columnTiles * kColumns) *
                                        Engine::kStride +
                                    Engine::kRoom) *
           sizeof(typename Engine::Element);
}

template <class T>
void forward(Stream& stream, const AttentionProblem& p)
{
    constexpr Index kFewQueries = 4;
    if (p.queries <= kFewQueries) {
        decode<T>(stream, p);
        return;
    }
    withTileWidth(p.size, [&](auto width) {
        using Engine = EngineOf<T, width()>;
        constexpr std::size_t kBytes = sharedBytes<Engine>(1, 2);
        if (!usesTiles({"attention", p.type, p.size, kBytes}, currentOffer())) {
            attention_plain::forward<T>(stream, p);
            return;
        }
        const Index tiles = (p.queries + Engine::kRows - 1) / Engine::kRows;
        launchTiles(stream, "attention", forwardTile<T, width()>, p.batches * p.heads * tiles,
                    kBytes, p);
    });
}

} // namespace attention_tiles
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
