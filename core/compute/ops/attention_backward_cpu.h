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

/// One query block of one head while keys pass by.
template <class T>
class BackwardBlock {
public:
    using Real = Accumulator<T>;
    static constexpr int kWidth = kLanes<Real>;

    /// Reads what the derivative needs; `room` [kQueryBlock, kRowStride] is used meanwhile.
    void start(const AttentionProblem& p, Index b, Index h, Index block, Real* room)
    {
        m_batch = b, m_head = h, m_size = p.size;
        m_scale = static_cast<Real>(p.scale);
        m_mask.set(p.mask, b, queryBlock<Real>(p.queries, block));
        const QueryBlock& queries = m_mask.block;
        gatherRows<T>(p.q, b, queries.first, queries.count, h, p.size, m_queries);
        gatherRows<T>(p.gradO, b, queries.first, queries.count, h, p.size, m_gradO);
        gatherRows<T>(p.o, b, queries.first, queries.count, h, p.size, room);
        const Real* logSumExp =
            static_cast<const Real*>(p.logSumExp) + p.rowOf(b, h, queries.first);
        for (Index i = 0; i < queries.vectors * kWidth; ++i) {
            const Index at = i < queries.count ? i : queries.count - 1;
            const Real value = logSumExp[at];
            // a query that saw nothing: +∞ makes all its probabilities 0
            m_shift[i] = value == -kInfinity<Real> ? kInfinity<Real> : value * kLog2e<Real>;
            m_delta[i] = dot(room + at * kRowStride<Real>, m_gradO + at * kRowStride<Real>);
        }
        transposeRows(m_queries, queries.count, queries.vectors, p.size, m_scale * kLog2e<Real>,
                      m_queryLanes);
        transposeRows(m_gradO, queries.count, queries.vectors, p.size, Real(1), m_gradLanes);
        for (Index j = 0; j < p.size; ++j) {
            for (Index v = 0; v < queries.vectors; ++v)
                lanes::store(lanesOf(m_sum, j, v).data, Vector<Real>{});
        }
    }

    const BlockMask<Real>& mask() const { return m_mask; }

    /// Keys [key, key + count) and where their derivatives are added up.
    struct Keys {
        Index key = 0, count = 0;
        Matrix<Real> k, v, gradK, gradV;
        Real *scores = nullptr, *gradScores = nullptr; ///< room, [kKeyBlock, kQueryBlock] each
    };
    void add(const AttentionBias& bias, const Keys& keys)
    {
        m_mask.forPieces(keys.key, keys.count, [&](Index at, Index n, Index from, Index vectors) {
            product<false>(n, vectors, m_size, keys.k.at(at, 0), lanesOf(m_queryLanes, 0, from),
                           lanesOf(keys.scores, at, from), false);
            product<false>(n, vectors, m_size, keys.v.at(at, 0), lanesOf(m_gradLanes, 0, from),
                           lanesOf(keys.gradScores, at, from), false);
        });
        if (bias.data)
            addBias(bias, m_batch, m_head, m_mask.block, keys.key, keys.count, keys.scores);
        const bool isWhole = m_mask.isWhole(keys.key, keys.count);
        m_mask.forPieces(keys.key, keys.count, [&](Index at, Index n, Index from, Index vectors) {
            for (Index v = from; v < from + vectors; ++v)
                probabilities(isWhole, keys.key + at, n, v, lanesOf(keys.scores, at, v).data,
                              lanesOf(keys.gradScores, at, v).data);
            const Index room = m_mask.block.count - from * kWidth, all = vectors * kWidth;
            const Index seen = room < all ? room : all;
            const Index columns = roundedToLanes<Real>(m_size) / kWidth;
            product<false>(n, columns, seen, lanesOf(keys.scores, at, from),
                           rowsFrom(m_gradO, from * kWidth), keys.gradV.at(at, 0), true);
            product<false>(n, columns, seen, lanesOf(keys.gradScores, at, from),
                           rowsFrom(m_queries, from * kWidth), keys.gradK.at(at, 0), true);
            product<true>(m_size, vectors, n, keys.k.at(at, 0), lanesOf(keys.gradScores, at, from),
                          lanesOf(m_sum, 0, from), true);
        });
    }

    /// The sum over the keys that passed, row by row: gradQ where these were all keys.
    void finish(Real* rows) const
    {
        alignas(64) Real ones[kQueryBlock];
        for (Real& one : ones)
            one = 1;
        transposeLanes(m_sum, m_mask.block.vectors, m_size, ones, rows);
    }
    Index head() const { return m_head; }

private:
    static Matrix<Real> rowsFrom(Real* rows, Index first)
    {
        return {rows + first * kRowStride<Real>, kRowStride<Real>};
    }

    Real dot(const Real* a, const Real* b) const
    {
        Vector<Real> sum{};
        for (Index j = 0; j < m_size; j += kWidth)
            sum = lanes::multiplyAdd(lanes::load(a + j), lanes::load(b + j), sum);
        Real total = 0;
        for (int i = 0; i < kWidth; ++i)
            total += sum[i];
        return total;
    }

    /// scores ← P, gradScores ← scale · P ⊙ (dP − δ) for vector v.
    void probabilities(bool isWhole, Index key, Index n, Index v, Real* scores,
                       Real* gradScores) const
    {
        const Vector<Real> shift = lanes::load(m_shift + v * kWidth);
        const Vector<Real> delta = lanes::load(m_delta + v * kWidth);
        for (Index k = 0; k < n; ++k) {
            Vector<Real> p = lanes::powerOfTwo(lanes::load(scores + k * kQueryBlock) - shift);
            if (!isWhole)
                p = m_mask.sees(v, key + k) ? p : Vector<Real>{};
            lanes::store(scores + k * kQueryBlock, p);
            const Vector<Real> d = lanes::load(gradScores + k * kQueryBlock) - delta;
            lanes::store(gradScores + k * kQueryBlock, p * m_scale * d);
        }
    }

    Index m_batch = 0, m_head = 0, m_size = 0;
    Real m_scale = 0;
    BlockMask<Real> m_mask;
    alignas(64) Real m_queries[kQueryBlock * kRowStride<Real>];
    alignas(64) Real m_gradO[kQueryBlock * kRowStride<Real>];
    alignas(64) Real m_queryLanes[kLargestHead * kQueryBlock]; ///< Qᵀ · scale · log2 e
    alignas(64) Real m_gradLanes[kLargestHead * kQueryBlock];  ///< dOᵀ
    alignas(64) Real m_sum[kLargestHead * kQueryBlock];        ///< dQᵀ
    alignas(64) Real m_shift[kQueryBlock], m_delta[kQueryBlock];
};

/// Keys of one slice against the queries of all heads of its group, a few query blocks at a time:
/// keys and values are gathered once for these.
template <class T>
class BackwardSlice {
public:
    using Real = Accumulator<T>;

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
        m_end = m_begin + m_plan.sliceKeys < p.keys ? m_begin + m_plan.sliceKeys : p.keys;
        placeSums(item);
        const Index blocks = queryBlocks<Real>(p.queries) * p.group();
        const Index passes = (blocks + kMostBlocks - 1) / kMostBlocks;
        for (Index i = 0; i < passes; ++i)
            passKeys(blocks * i / passes, blocks * (i + 1) / passes - blocks * i / passes);
        startUnseen();
        if (!m_plan.sumsInPlace)
            writeSums();
    }

private:
    static constexpr Index kMostBlocks = 4;

    void placeSums(Index item)
    {
        const AttentionProblem& p = m_problem;
        if (m_plan.sumsInPlace) {
            m_gradK = {p.gradK.template at<Real>(m_batch, m_begin, m_keyHead), p.gradK.row};
            m_gradV = {p.gradV.template at<Real>(m_batch, m_begin, m_keyHead), p.gradV.row};
            return;
        }
        Real* sums = m_plan.sums + item * 2 * m_plan.sliceKeys * m_plan.stride;
        m_gradK = {sums, m_plan.stride};
        m_gradV = {sums + m_plan.sliceKeys * m_plan.stride, m_plan.stride};
    }

    /// All keys of the slice for some entries of the list (query block, head of the group).
    void passKeys(Index first, Index count)
    {
        const AttentionProblem& p = m_problem;
        const Index group = p.group();
        Index begin = m_end, end = m_begin;
        for (Index i = 0; i < count; ++i) {
            m_running[i].start(p, m_batch, m_keyHead * group + (first + i) % group,
                               (first + i) / group, m_keys);
            const BlockMask<Real>& mask = m_running[i].mask();
            begin = mask.begin < begin ? mask.begin : begin;
            end = mask.end > end ? mask.end : end;
        }
        begin = begin > m_begin ? begin - (begin - m_begin) % kKeyBlock : m_begin;
        end = end < m_end ? end : m_end;
        for (Index key = begin; key < end; key += kKeyBlock)
            passBlock(key, count);
        for (Index i = 0; i < count; ++i) {
            m_running[i].finish(m_keys);
            writeQueries(m_running[i]);
        }
    }

    Index countFrom(Index key) const { return m_end - key < kKeyBlock ? m_end - key : kKeyBlock; }

    void passBlock(Index key, Index blockCount)
    {
        const AttentionProblem& p = m_problem;
        typename BackwardBlock<T>::Keys keys;
        keys.key = key, keys.count = countFrom(key);
        keys.k = {m_keys, kRowStride<Real>}, keys.v = {m_values, kRowStride<Real>};
        keys.gradK = {m_keySums, kRowStride<Real>}, keys.gradV = {m_valueSums, kRowStride<Real>};
        keys.scores = m_scores, keys.gradScores = m_gradScores;
        gatherRows<T>(p.k, m_batch, key, keys.count, m_keyHead, p.size, m_keys);
        gatherRows<T>(p.v, m_batch, key, keys.count, m_keyHead, p.size, m_values);
        prefetchRows<T>(p.k, m_batch, key + kKeyBlock, m_end, m_keyHead, p.size);
        prefetchRows<T>(p.v, m_batch, key + kKeyBlock, m_end, m_keyHead, p.size);
        for (Index k = 0; k < keys.count; ++k) {
            for (Index j = 0; j < m_plan.stride; j += kLanes<Real>) {
                lanes::store(keys.gradK.at(k, j).data, Vector<Real>{});
                lanes::store(keys.gradV.at(k, j).data, Vector<Real>{});
            }
        }
        for (Index i = 0; i < blockCount; ++i) {
            const BlockMask<Real>& mask = m_running[i].mask();
            if (mask.begin < key + keys.count && mask.end > key)
                m_running[i].add(p.bias, keys);
        }
        addSums(key, keys);
    }

    /// Adds the derivatives of a block to those of the slice.
    void addSums(Index key, const typename BackwardBlock<T>::Keys& keys)
    {
        const std::uint32_t bit = 1u << ((key - m_begin) / kKeyBlock);
        const bool isFirst = !(m_started & bit);
        m_started |= bit;
        for (Index k = 0; k < keys.count; ++k) {
            for (Index j = 0; j < m_plan.stride; j += kLanes<Real>) {
                Real* gradK = m_gradK.at(key - m_begin + k, j).data;
                Real* gradV = m_gradV.at(key - m_begin + k, j).data;
                const Vector<Real> moreK = lanes::load(keys.gradK.at(k, j).data);
                const Vector<Real> moreV = lanes::load(keys.gradV.at(k, j).data);
                lanes::store(gradK, isFirst ? moreK : lanes::load(gradK) + moreK);
                lanes::store(gradV, isFirst ? moreV : lanes::load(gradV) + moreV);
            }
        }
    }

    /// Keys that no query saw take no gradient.
    void startUnseen()
    {
        const std::size_t bytes = static_cast<std::size_t>(m_plan.stride) * sizeof(Real);
        for (Index k = 0; k < m_end - m_begin; ++k) {
            if (m_started & (1u << (k / kKeyBlock)))
                continue;
            std::memset(m_gradK.at(k, 0).data, 0, bytes);
            std::memset(m_gradV.at(k, 0).data, 0, bytes);
        }
    }

    void writeSums()
    {
        const AttentionProblem& p = m_problem;
        for (Index k = 0; k < m_end - m_begin; ++k) {
            lanes::narrowTo(m_gradK.at(k, 0).data, p.size,
                            p.gradK.template at<T>(m_batch, m_begin + k, m_keyHead));
            lanes::narrowTo(m_gradV.at(k, 0).data, p.size,
                            p.gradV.template at<T>(m_batch, m_begin + k, m_keyHead));
        }
    }

    /// Rows in m_keys are gradQ, or this slice's share of it.
    void writeQueries(const BackwardBlock<T>& running)
    {
        const AttentionProblem& p = m_problem;
        const QueryBlock& block = running.mask().block;
        if (m_plan.slices == 1) {
            scatterRows<T>(m_keys, p.gradQ, m_batch, block.first, block.count, running.head(),
                           p.size);
            return;
        }
        const Index rows = p.batches * p.heads * p.queries;
        const Index row = m_slice * rows + p.rowOf(m_batch, running.head(), block.first);
        for (Index i = 0; i < block.count; ++i)
            std::memcpy(m_plan.shares + (row + i) * m_plan.stride, m_keys + i * kRowStride<Real>,
                        static_cast<std::size_t>(m_plan.stride) * sizeof(Real));
    }

    const AttentionProblem& m_problem;
    const BackwardPlan<T>& m_plan;
    Index m_batch = 0, m_keyHead = 0, m_slice = 0, m_begin = 0, m_end = 0;
    Matrix<Real> m_gradK, m_gradV; ///< of the slice
    std::uint32_t m_started = 0;   ///< blocks of keys that hold sums already
    alignas(64) Real m_keys[kQueryBlock * kRowStride<Real>];
    alignas(64) Real m_values[kKeyBlock * kRowStride<Real>];
    alignas(64) Real m_keySums[kKeyBlock * kRowStride<Real>];
    alignas(64) Real m_valueSums[kKeyBlock * kRowStride<Real>];
    alignas(64) Real m_scores[kKeyBlock * kQueryBlock];     ///< Sᵀ, then Pᵀ
    alignas(64) Real m_gradScores[kKeyBlock * kQueryBlock]; ///< dPᵀ, then dSᵀ
    BackwardBlock<T> m_running[kMostBlocks];
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
