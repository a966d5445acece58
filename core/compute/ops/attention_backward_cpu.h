#pragma once

// For the CPU builds of kernel files: the derivative of attention by blocks of keys and queries,
// probabilities rebuilt from the log-sum-exp; FlashAttention-2 (2023), algorithm 2, with a fixed
// order of all sums. Scores are held transposed, [key, query].

#include "core/compute/launch.h"
#include "core/compute/ops/attention_product_cpu.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_cpu {

/// How the work is cut: an item is (batch, key head, slice of keys) and owns gradK and gradV of its
/// keys. With several slices each leaves its share of gradQ, and the shares are added in order.
/// Depends on the shape alone.
template <class T>
struct BackwardPlan {
    using Real = Accumulator<T>;
    Index slices = 1, sliceKeys = 0;
    Index stride = 0;         ///< between rows of shares and sums
    bool sumsInPlace = false; ///< gradK and gradV hold the running sums themselves
    Real* sums = nullptr;     ///< [items, 2, sliceKeys, stride] unless sumsInPlace
    Real* shares = nullptr;   ///< [slices, B, H, Sq, stride] where slices > 1

    explicit BackwardPlan(const AttentionProblem& p)
    {
        constexpr Index kEnoughItems = 16, kLongest = 1024, kShortest = 128;
        const Index lists = p.batches * p.keyHeads;
        Index wanted = (kEnoughItems + lists - 1) / lists;
        const Index possible = (p.keys + kShortest - 1) / kShortest;
        const Index needed = (p.keys + kLongest - 1) / kLongest;
        wanted = wanted < possible ? wanted : possible;
        slices = wanted > needed ? wanted : needed;
        slices = slices > 1 ? slices : 1; // no key at all
        sliceKeys = (p.keys + slices - 1) / slices;
        sliceKeys = (sliceKeys + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
        sliceKeys = sliceKeys > 0 ? sliceKeys : kKeyBlock;
        slices = p.keys > 0 ? (p.keys + sliceKeys - 1) / sliceKeys : 1;
        stride = roundedToLanes<Real>(p.size);
        sumsInPlace = std::is_same_v<T, Real> && stride == p.size;
    }

    Index items(const AttentionProblem& p) const { return p.batches * p.keyHeads * slices; }
    Index sumCount(const AttentionProblem& p) const
    {
        return sumsInPlace ? 0 : items(p) * 2 * sliceKeys * stride;
    }
    Index shareCount(const AttentionProblem& p) const
    {
        return slices > 1 ? slices * p.batches * p.heads * p.queries * stride : 0;
    }
};

/// Keys of one slice against the queries of all heads of its group.
template <class T>
class BackwardSlice {
public:
    using Real = Accumulator<T>;
    static constexpr int kWidth = kLanes<Real>;

    BackwardSlice(const AttentionProblem& problem, const BackwardPlan<T>& plan)
        : m_problem(problem),
          m_plan(plan)
    {
    }

    void run(Index item)
    {
        const AttentionProblem& p = m_problem;
        m_slice = item % m_plan.slices;
        m_keyHead = item / m_plan.slices % p.keyHeads;
        m_batch = item / m_plan.slices / p.keyHeads;
        m_begin = m_slice * m_plan.sliceKeys;
        const Index left = p.keys - m_begin;
        m_end = m_begin + (left < m_plan.sliceKeys ? left : m_plan.sliceKeys);
        placeSums(item);
        for (Index g = 0; g < p.group(); ++g) {
            for (Index i = 0; i < queryBlocks<Real>(p.queries); ++i)
                queries(m_keyHead * p.group() + g, queryBlock<Real>(p.queries, i));
        }
        if (!m_plan.sumsInPlace)
            writeSums();
    }

private:
    void placeSums(Index item)
    {
        const AttentionProblem& p = m_problem;
        if (m_plan.sumsInPlace) {
            m_gradK = p.gradK.template at<Real>(m_batch, m_begin, m_keyHead);
            m_gradV = p.gradV.template at<Real>(m_batch, m_begin, m_keyHead);
            m_strideK = p.gradK.row, m_strideV = p.gradV.row;
        } else {
            m_gradK = m_plan.sums + item * 2 * m_plan.sliceKeys * m_plan.stride;
            m_gradV = m_gradK + m_plan.sliceKeys * m_plan.stride;
            m_strideK = m_strideV = m_plan.stride;
        }
        const std::size_t bytes = static_cast<std::size_t>(m_plan.stride) * sizeof(Real);
        for (Index k = 0; k < m_end - m_begin; ++k) {
            std::memset(m_gradK + k * m_strideK, 0, bytes);
            std::memset(m_gradV + k * m_strideV, 0, bytes);
        }
    }

    void writeSums()
    {
        const AttentionProblem& p = m_problem;
        for (Index k = 0; k < m_end - m_begin; ++k) {
            lanes::narrowTo(m_gradK + k * m_strideK, p.size,
                            p.gradK.template at<T>(m_batch, m_begin + k, m_keyHead));
            lanes::narrowTo(m_gradV + k * m_strideV, p.size,
                            p.gradV.template at<T>(m_batch, m_begin + k, m_keyHead));
        }
    }

    void queries(Index h, const QueryBlock& block)
    {
        const AttentionProblem& p = m_problem;
        m_mask.set(p.mask, m_batch, block);
        const Index begin = m_mask.begin > m_begin ? m_mask.begin : m_begin;
        const Index end = m_mask.end < m_end ? m_mask.end : m_end;
        for (Index j = 0; j < p.size; ++j) {
            for (Index v = 0; v < block.vectors; ++v)
                lanes::store(m_sum + j * kQueryBlock + v * kWidth, Vector<Real>{});
        }
        if (begin < end)
            load(h);
        for (Index key = begin; key < end; key += kKeyBlock)
            keys(h, key, end - key < kKeyBlock ? end - key : kKeyBlock);
        writeQueries(h);
    }

    void load(Index h)
    {
        const AttentionProblem& p = m_problem;
        const QueryBlock& block = m_mask.block;
        const Index row = p.rowOf(m_batch, h, block.first);
        const Real* logSumExp = static_cast<const Real*>(p.logSumExp) + row;
        gatherRows<T>(p.q, m_batch, block.first, block.count, h, p.size, m_queries);
        gatherRows<T>(p.gradO, m_batch, block.first, block.count, h, p.size, m_gradO);
        gatherRows<T>(p.o, m_batch, block.first, block.count, h, p.size, m_rows);
        Real* delta = static_cast<Real*>(p.delta) + row;
        for (Index i = 0; i < block.vectors * kWidth; ++i) {
            const Index at = i < block.count ? i : block.count - 1;
            const Real value = logSumExp[at];
            // a query that saw nothing: +∞ makes all its probabilities 0
            m_shift[i] = value == -kInfinity<Real> ? kInfinity<Real> : value * kLog2e<Real>;
            m_delta[i] = dot(m_rows + at * kRowStride<Real>, m_gradO + at * kRowStride<Real>);
            if (m_slice == 0 && i < block.count)
                delta[i] = m_delta[i];
        }
        transposeRows(m_queries, block.count, block.vectors, p.size,
                      static_cast<Real>(p.scale) * kLog2e<Real>, m_queryLanes);
        transposeRows(m_gradO, block.count, block.vectors, p.size, Real(1), m_gradLanes);
    }

    Real dot(const Real* a, const Real* b) const
    {
        Vector<Real> sum{};
        for (Index j = 0; j < m_problem.size; j += kWidth)
            sum = lanes::multiplyAdd(lanes::load(a + j), lanes::load(b + j), sum);
        Real total = 0;
        for (int i = 0; i < kWidth; ++i)
            total += sum[i];
        return total;
    }

    void keys(Index h, Index key, Index count)
    {
        constexpr Index kStride = kRowStride<Real>;
        const AttentionProblem& p = m_problem;
        gatherRows<T>(p.k, m_batch, key, count, m_keyHead, p.size, m_rows);
        gatherRows<T>(p.v, m_batch, key, count, m_keyHead, p.size, m_values);
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            const Index lane = from * kWidth, corner = at * kQueryBlock + lane;
            product<Real, false, kStride, kQueryBlock>(n, vectors, p.size, m_rows + at * kStride,
                                                       m_queryLanes + lane, m_scores + corner,
                                                       kQueryBlock, false);
            product<Real, false, kStride, kQueryBlock>(n, vectors, p.size, m_values + at * kStride,
                                                       m_gradLanes + lane, m_gradScores + corner,
                                                       kQueryBlock, false);
        });
        if (p.bias.data)
            addBias(p.bias, m_batch, h, m_mask.block, key, count, m_scores);
        const bool isWhole = m_mask.isWhole(key, count);
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            for (Index v = from; v < from + vectors; ++v)
                probabilities(isWhole, key, at, n, v);
            const Index lane = from * kWidth, corner = at * kQueryBlock + lane;
            const Index row = key - m_begin + at;
            const Index room = m_mask.block.count - lane, all = vectors * kWidth;
            const Index seen = room < all ? room : all;
            product<Real, false, kQueryBlock, kStride>(n, m_plan.stride / kWidth, seen,
                                                       m_scores + corner, m_gradO + lane * kStride,
                                                       m_gradV + row * m_strideV, m_strideV, true);
            product<Real, false, kQueryBlock, kStride>(
                n, m_plan.stride / kWidth, seen, m_gradScores + corner, m_queries + lane * kStride,
                m_gradK + row * m_strideK, m_strideK, true);
            product<Real, true, kStride, kQueryBlock>(p.size, vectors, n, m_rows + at * kStride,
                                                      m_gradScores + corner, m_sum + lane,
                                                      kQueryBlock, true);
        });
    }

    /// scores ← P, gradScores ← scale · P ⊙ (dP − δ) for vector v.
    void probabilities(bool isWhole, Index key, Index at, Index n, Index v)
    {
        const Vector<Real> shift = lanes::load(m_shift + v * kWidth);
        const Vector<Real> delta = lanes::load(m_delta + v * kWidth);
        const Real scale = static_cast<Real>(m_problem.scale);
        Real* scores = m_scores + at * kQueryBlock + v * kWidth;
        Real* gradients = m_gradScores + at * kQueryBlock + v * kWidth;
        for (Index k = 0; k < n; ++k) {
            Vector<Real> p = lanes::powerOfTwo(lanes::load(scores + k * kQueryBlock) - shift);
            if (!isWhole)
                p = m_mask.sees(v, key + at + k) ? p : Vector<Real>{};
            lanes::store(scores + k * kQueryBlock, p);
            const Vector<Real> d = lanes::load(gradients + k * kQueryBlock) - delta;
            lanes::store(gradients + k * kQueryBlock, p * scale * d);
        }
    }

    void writeQueries(Index h)
    {
        const AttentionProblem& p = m_problem;
        const QueryBlock& block = m_mask.block;
        alignas(64) Real ones[kQueryBlock];
        for (Real& one : ones)
            one = 1;
        transposeLanes(m_sum, block.vectors, p.size, ones, m_rows);
        if (m_plan.slices == 1) {
            scatterRows<T>(m_rows, p.gradQ, m_batch, block.first, block.count, h, p.size);
            return;
        }
        const Index rows = p.batches * p.heads * p.queries;
        Real* share =
            m_plan.shares + (m_slice * rows + p.rowOf(m_batch, h, block.first)) * m_plan.stride;
        for (Index i = 0; i < block.count; ++i)
            std::memcpy(share + i * m_plan.stride, m_rows + i * kRowStride<Real>,
                        static_cast<std::size_t>(m_plan.stride) * sizeof(Real));
    }

    const AttentionProblem& m_problem;
    const BackwardPlan<T>& m_plan;
    Index m_batch = 0, m_keyHead = 0, m_slice = 0, m_begin = 0, m_end = 0;
    Real *m_gradK = nullptr, *m_gradV = nullptr;
    Index m_strideK = 0, m_strideV = 0;
    BlockMask<Real> m_mask;
    alignas(64) Real m_rows[kQueryBlock * kRowStride<Real>]; ///< keys; also outputs
    alignas(64) Real m_values[kKeyBlock * kRowStride<Real>];
    alignas(64) Real m_queries[kQueryBlock * kRowStride<Real>];
    alignas(64) Real m_gradO[kQueryBlock * kRowStride<Real>];
    alignas(64) Real m_queryLanes[kLargestHead * kQueryBlock]; ///< Qᵀ · scale · log2 e
    alignas(64) Real m_gradLanes[kLargestHead * kQueryBlock];  ///< dOᵀ
    alignas(64) Real m_scores[kKeyBlock * kQueryBlock];        ///< Sᵀ, then Pᵀ
    alignas(64) Real m_gradScores[kKeyBlock * kQueryBlock];    ///< dPᵀ, then dSᵀ
    alignas(64) Real m_sum[kLargestHead * kQueryBlock];        ///< dQᵀ
    alignas(64) Real m_shift[kQueryBlock], m_delta[kQueryBlock];
};

template <class T>
struct BackwardItem {
    const AttentionProblem& problem;
    const BackwardPlan<T>& plan;

    void operator()(Index item) const { BackwardSlice<T>(problem, plan).run(item); }
};

/// gradQ of one query and head from the shares of all slices, in order.
template <class T>
struct AddShares {
    const AttentionProblem& problem;
    const BackwardPlan<T>& plan;

    void operator()(Index row) const
    {
        using Real = Accumulator<T>;
        const AttentionProblem& p = problem;
        const Index rows = p.batches * p.heads * p.queries;
        alignas(64) Real sum[kLargestHead];
        const Real* share = plan.shares + row * plan.stride;
        for (Index j = 0; j < plan.stride; j += kLanes<Real>) {
            Vector<Real> total = lanes::load(share + j);
            for (Index s = 1; s < plan.slices; ++s)
                total += lanes::load(share + s * rows * plan.stride + j);
            lanes::store(sum + j, total);
        }
        lanes::narrowTo(sum, p.size,
                        p.gradQ.template at<T>(row / p.queries / p.heads, row % p.queries,
                                               row / p.queries % p.heads));
    }
};

template <class T>
void backwardBySlices(Stream& stream, const AttentionProblem& p)
{
    using Real = Accumulator<T>;
    BackwardPlan<T> plan(p);
    const Index sums = plan.sumCount(p), shares = plan.shareCount(p);
    if (sums + shares > 0) {
        plan.sums = static_cast<Real*>(
            stream.scratch(static_cast<std::size_t>(sums + shares) * sizeof(Real)));
        plan.shares = plan.sums + sums;
    }
    forEach(stream, plan.items(p), BackwardItem<T>{p, plan}, 1);
    if (plan.slices > 1)
        forEach(stream, p.batches * p.heads * p.queries, AddShares<T>{p, plan}, 256);
}

} // namespace attention_cpu
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
