#pragma once

// For the CPU builds of kernel files: softmax(QKᵀ) V by blocks, with the running maximum and sum of
// FlashAttention-2 (2023), algorithm 1. Scores are held transposed, [key, query]: a lane is a
// query.

#include "core/compute/launch.h"
#include "core/compute/ops/attention_product_cpu.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_cpu {

/// One query block of one head while keys pass by. Scores and maxima are in units of ln 2, so that
/// 2^x does for e^x.
template <class T>
class ForwardBlock {
public:
    using Real = Accumulator<T>;
    static constexpr int kWidth = kLanes<Real>;

    /// `room` [kQueryBlock, kRowStride] is used meanwhile.
    void start(const AttentionProblem& p, Index b, Index h, Index block, Real* room)
    {
        m_batch = b, m_head = h, m_size = p.size;
        m_mask.set(p.mask, b, queryBlock<Real>(p.queries, block));
        const QueryBlock& queries = m_mask.block;
        gatherRows<T>(p.q, b, queries.first, queries.count, h, p.size, room);
        transposeRows(room, queries.count, queries.vectors, p.size,
                      static_cast<Real>(p.scale) * kLog2e<Real>, m_query);
        for (Index lane = 0; lane < queries.vectors * kWidth; ++lane) {
            m_top[lane] = -kInfinity<Real>;
            m_total[lane] = 0;
        }
        for (Index j = 0; j < p.size; ++j) {
            for (Index v = 0; v < queries.vectors; ++v)
                lanes::store(lanesOf(m_sum, j, v).data, Vector<Real>{});
        }
    }

    /// Keys that some query of the block sees.
    const BlockMask<Real>& mask() const { return m_mask; }

    /// Takes in keys [key, key + count); `scores` is room for [kKeyBlock, kQueryBlock].
    void add(const AttentionBias& bias, Index key, Index count, Matrix<const Real> keys,
             Matrix<const Real> values, Real* scores)
    {
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            product<false>(n, vectors, m_size, keys.at(at, 0), lanesOf(m_query, 0, from),
                           lanesOf(scores, at, from), false);
        });
        if (bias.data)
            addBias(bias, m_batch, m_head, m_mask.block, key, count, scores);
        softmaxStep(key, count, scores);
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            product<true>(m_size, vectors, n, values.at(at, 0), lanesOf(scores, at, from),
                          lanesOf(m_sum, 0, from), true);
        });
    }

    void finish(const AttentionProblem& p, Real* room) const
    {
        const QueryBlock& block = m_mask.block;
        alignas(64) Real inverse[kQueryBlock];
        for (Index i = 0; i < block.vectors * kWidth; ++i)
            inverse[i] = m_total[i] == 0 ? Real(0) : Real(1) / m_total[i];
        transposeLanes(m_sum, block.vectors, p.size, inverse, room);
        scatterRows<T>(room, p.o, m_batch, block.first, block.count, m_head, p.size);
        if (!p.logSumExp)
            return;
        Real* out = static_cast<Real*>(p.logSumExp) + p.rowOf(m_batch, m_head, block.first);
        for (Index i = 0; i < block.count; ++i)
            out[i] = m_total[i] == 0 ? -kInfinity<Real> : m_top[i] * kLn2<Real> + logOf(m_total[i]);
    }

private:
    /// scores ← 2^(scores − maximum); total and sum are brought to the new maximum.
    void softmaxStep(Index key, Index count, Real* scores)
    {
        const bool isWhole = m_mask.isWhole(key, count);
        alignas(64) Real top[kQueryBlock];
        std::memcpy(top, m_top, sizeof(top));
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            for (Index v = from; v < from + vectors; ++v)
                raise(isWhole, key + at, n, v, lanesOf(scores, at, v).data, top);
        });
        for (Index v = 0; v < m_mask.block.vectors; ++v)
            rescale(v, top);
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            for (Index v = from; v < from + vectors; ++v)
                exponentiate(n, v, lanesOf(scores, at, v).data);
        });
    }

    /// Maxima of vector v; hidden scores become −∞.
    void raise(bool isWhole, Index key, Index n, Index v, Real* scores, Real* top) const
    {
        Vector<Real> largest = lanes::load(top + v * kWidth);
        for (Index k = 0; k < n; ++k) {
            Vector<Real> s = lanes::load(scores + k * kQueryBlock);
            if (!isWhole) {
                s = m_mask.sees(v, key + k) ? s : lanes::spread(-kInfinity<Real>);
                lanes::store(scores + k * kQueryBlock, s);
            }
            largest = lanes::larger(s, largest);
        }
        lanes::store(top + v * kWidth, largest);
    }

    void rescale(Index v, const Real* top)
    {
        const Vector<Real> before = lanes::load(m_top + v * kWidth);
        const Vector<Real> after = lanes::load(top + v * kWidth);
        const Vector<Real> shift = after == -kInfinity<Real> ? Vector<Real>{} : after;
        lanes::store(m_top + v * kWidth, after);
        lanes::store(m_shift + v * kWidth, shift);
        if (!lanes::isAnySet(before != after))
            return;
        const Vector<Real> factor = lanes::powerOfTwo(before - shift);
        lanes::store(m_total + v * kWidth, lanes::load(m_total + v * kWidth) * factor);
        for (Index j = 0; j < m_size; ++j) {
            Real* sum = lanesOf(m_sum, j, v).data;
            lanes::store(sum, lanes::load(sum) * factor);
        }
    }

    void exponentiate(Index n, Index v, Real* scores)
    {
        const Vector<Real> shift = lanes::load(m_shift + v * kWidth);
        Vector<Real> total = lanes::load(m_total + v * kWidth);
        for (Index k = 0; k < n; ++k) {
            const Vector<Real> p = lanes::powerOfTwo(lanes::load(scores + k * kQueryBlock) - shift);
            lanes::store(scores + k * kQueryBlock, p);
            total += p;
        }
        lanes::store(m_total + v * kWidth, total);
    }

    Index m_batch = 0, m_head = 0, m_size = 0;
    BlockMask<Real> m_mask;
    alignas(64) Real m_query[kLargestHead * kQueryBlock]; ///< Qᵀ · scale · log2 e
    alignas(64) Real m_sum[kLargestHead * kQueryBlock];   ///< Oᵀ before division
    alignas(64) Real m_top[kQueryBlock], m_shift[kQueryBlock], m_total[kQueryBlock];
};

/// Several query blocks, of the heads that share a key head, against all keys: keys and values are
/// gathered once for all of them.
template <class T>
struct ForwardItem {
    using Real = Accumulator<T>;
    static constexpr Index kMostBlocks = 4;

    const AttentionProblem& problem;
    Index blocks;           ///< query blocks and heads of one key head
    Index itemsPerHead = 1; ///< depends on the shape alone

    explicit ForwardItem(const AttentionProblem& p)
        : problem(p),
          blocks(queryBlocks<Real>(p.queries) * p.group())
    {
        constexpr Index kEnoughItems = 16;
        const Index most = p.batches * p.keyHeads * blocks / kEnoughItems;
        const Index perItem = most < 1 ? 1 : most < kMostBlocks ? most : kMostBlocks;
        itemsPerHead = (blocks + perItem - 1) / perItem;
    }
    Index items() const { return problem.batches * problem.keyHeads * itemsPerHead; }

    void operator()(Index item) const
    {
        const AttentionProblem& p = problem;
        const Index group = p.group();
        const Index b = item / itemsPerHead / p.keyHeads,
                    keyHead = item / itemsPerHead % p.keyHeads;
        // the longest rows of a causal mask first, so that no thread is left with one at the end
        const Index part = itemsPerHead - 1 - item % itemsPerHead;
        const Index first = blocks * part / itemsPerHead;
        const Index count = blocks * (part + 1) / itemsPerHead - first;
        ForwardBlock<T> running[kMostBlocks];
        alignas(64) Real keys[kKeyBlock * kRowStride<Real>];
        for (Index i = 0; i < count; ++i)
            running[i].start(p, b, keyHead * group + (first + i) % group, (first + i) / group,
                             keys);
        passKeys(b, keyHead, running, count, keys);
        for (Index i = 0; i < count; ++i)
            running[i].finish(p, keys);
    }

private:
    void passKeys(Index b, Index keyHead, ForwardBlock<T>* running, Index blockCount,
                  Real* keys) const
    {
        const AttentionProblem& p = problem;
        alignas(64) Real values[kKeyBlock * kRowStride<Real>];
        alignas(64) Real scores[kKeyBlock * kQueryBlock];
        Index begin = p.keys, end = 0;
        for (Index i = 0; i < blockCount; ++i) {
            const BlockMask<Real>& mask = running[i].mask();
            begin = mask.begin < begin ? mask.begin : begin;
            end = mask.end > end ? mask.end : end;
        }
        for (Index key = begin; key < end; key += kKeyBlock) {
            const Index count = end - key < kKeyBlock ? end - key : kKeyBlock;
            gatherRows<T>(p.k, b, key, count, keyHead, p.size, keys);
            gatherRows<T>(p.v, b, key, count, keyHead, p.size, values);
            prefetchRows<T>(p.k, b, key + kKeyBlock, end, keyHead, p.size);
            prefetchRows<T>(p.v, b, key + kKeyBlock, end, keyHead, p.size);
            for (Index i = 0; i < blockCount; ++i) {
                const BlockMask<Real>& mask = running[i].mask();
                if (mask.begin < key + count && mask.end > key)
                    running[i].add(p.bias, key, count, {keys, kRowStride<Real>},
                                   {values, kRowStride<Real>}, scores);
            }
        }
    }
};

template <class T>
void forwardByBlocks(Stream& stream, const AttentionProblem& p)
{
    const ForwardItem<T> item(p);
    forEach(stream, item.items(), item, 1);
}

} // namespace attention_cpu
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
