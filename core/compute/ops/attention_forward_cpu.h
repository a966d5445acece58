#pragma once

// For the CPU builds of kernel files: softmax(QKᵀ) V by blocks, with the running maximum and sum of
// FlashAttention-2 (2023), algorithm 1. Scores are held transposed, [key, query]: a lane is a
// query.

#include "core/compute/launch.h"
#include "core/compute/ops/attention_product_cpu.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_cpu {

/// One query block of one head. Scores and maxima are in units of ln 2, so that 2^x does for e^x.
template <class T>
class ForwardBlock {
public:
    using Real = Accumulator<T>;
    static constexpr int kWidth = kLanes<Real>;

    explicit ForwardBlock(const AttentionProblem& problem) : m_problem(problem) {}

    void run(Index b, Index h, Index i)
    {
        const AttentionProblem& p = m_problem;
        const QueryBlock block = queryBlock<Real>(p.queries, i);
        m_mask.set(p.mask, b, block);
        start(b, h);
        for (Index key = m_mask.begin; key < m_mask.end; key += kKeyBlock) {
            const Index left = m_mask.end - key, count = left < kKeyBlock ? left : kKeyBlock;
            const Index keyHead = h / p.group();
            gatherRows<T>(p.k, b, key, count, keyHead, p.size, m_rows);
            m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
                product<Real, false, kRowStride<Real>, kQueryBlock>(
                    n, vectors, p.size, m_rows + at * kRowStride<Real>, m_query + from * kWidth,
                    m_scores + at * kQueryBlock + from * kWidth, kQueryBlock, false);
            });
            if (p.bias.data)
                addBias(p.bias, b, h, block, key, count, m_scores);
            softmaxStep(key, count);
            gatherRows<T>(p.v, b, key, count, keyHead, p.size, m_rows);
            m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
                product<Real, true, kRowStride<Real>, kQueryBlock>(
                    p.size, vectors, n, m_rows + at * kRowStride<Real>,
                    m_scores + at * kQueryBlock + from * kWidth, m_sum + from * kWidth, kQueryBlock,
                    true);
            });
        }
        finish(b, h);
    }

private:
    void start(Index b, Index h)
    {
        const AttentionProblem& p = m_problem;
        const QueryBlock& block = m_mask.block;
        gatherRows<T>(p.q, b, block.first, block.count, h, p.size, m_rows);
        transposeRows(m_rows, block.count, block.vectors, p.size,
                      static_cast<Real>(p.scale) * kLog2e<Real>, m_query);
        for (Index lane = 0; lane < block.vectors * kWidth; ++lane) {
            m_top[lane] = -kInfinity<Real>;
            m_total[lane] = 0;
        }
        for (Index j = 0; j < p.size; ++j) {
            for (Index v = 0; v < block.vectors; ++v)
                lanes::store(m_sum + j * kQueryBlock + v * kWidth, Vector<Real>{});
        }
    }

    /// scores ← 2^(scores − maximum); total and sum are brought to the new maximum.
    void softmaxStep(Index key, Index count)
    {
        const bool isWhole = m_mask.isWhole(key, count);
        alignas(64) Real top[kQueryBlock];
        std::memcpy(top, m_top, sizeof(top));
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            for (Index v = from; v < from + vectors; ++v)
                raise(isWhole, key, at, n, v, top);
        });
        for (Index v = 0; v < m_mask.block.vectors; ++v)
            rescale(v, top);
        m_mask.forPieces(key, count, [&](Index at, Index n, Index from, Index vectors) {
            for (Index v = from; v < from + vectors; ++v)
                exponentiate(at, n, v);
        });
    }

    /// Maxima of vector v; hidden scores become −∞.
    void raise(bool isWhole, Index key, Index at, Index n, Index v, Real* top)
    {
        Vector<Real> largest = lanes::load(top + v * kWidth);
        Real* scores = m_scores + at * kQueryBlock + v * kWidth;
        for (Index k = 0; k < n; ++k) {
            Vector<Real> s = lanes::load(scores + k * kQueryBlock);
            if (!isWhole) {
                s = m_mask.sees(v, key + at + k) ? s : lanes::spread(-kInfinity<Real>);
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
        lanes::store(m_top + v * kWidth, after);
        lanes::store(m_shift + v * kWidth, after == -kInfinity<Real> ? Vector<Real>{} : after);
        const auto differs = before != after;
        bool any = false;
        for (int i = 0; i < kWidth; ++i)
            any |= differs[i] != 0;
        if (!any)
            return;
        const Vector<Real> shift = lanes::load(m_shift + v * kWidth);
        const Vector<Real> factor = lanes::powerOfTwo(before - shift);
        lanes::store(m_total + v * kWidth, lanes::load(m_total + v * kWidth) * factor);
        for (Index j = 0; j < m_problem.size; ++j) {
            Real* sum = m_sum + j * kQueryBlock + v * kWidth;
            lanes::store(sum, lanes::load(sum) * factor);
        }
    }

    void exponentiate(Index at, Index n, Index v)
    {
        const Vector<Real> shift = lanes::load(m_shift + v * kWidth);
        Vector<Real> total = lanes::load(m_total + v * kWidth);
        Real* scores = m_scores + at * kQueryBlock + v * kWidth;
        for (Index k = 0; k < n; ++k) {
            const Vector<Real> p = lanes::powerOfTwo(lanes::load(scores + k * kQueryBlock) - shift);
            lanes::store(scores + k * kQueryBlock, p);
            total += p;
        }
        lanes::store(m_total + v * kWidth, total);
    }

    void finish(Index b, Index h)
    {
        const AttentionProblem& p = m_problem;
        const QueryBlock& block = m_mask.block;
        alignas(64) Real inverse[kQueryBlock];
        for (Index i = 0; i < block.vectors * kWidth; ++i)
            inverse[i] = m_total[i] == 0 ? Real(0) : Real(1) / m_total[i];
        transposeLanes(m_sum, block.vectors, p.size, inverse, m_rows);
        scatterRows<T>(m_rows, p.o, b, block.first, block.count, h, p.size);
        if (!p.logSumExp)
            return;
        Real* out = static_cast<Real*>(p.logSumExp) + p.rowOf(b, h, block.first);
        for (Index i = 0; i < block.count; ++i)
            out[i] = m_total[i] == 0 ? -kInfinity<Real> : m_top[i] * kLn2<Real> + logOf(m_total[i]);
    }

    const AttentionProblem& m_problem;
    BlockMask<Real> m_mask;
    alignas(64) Real m_rows[kQueryBlock * kRowStride<Real>]; ///< queries, keys or values
    alignas(64) Real m_query[kLargestHead * kQueryBlock];    ///< Qᵀ · scale · log2 e
    alignas(64) Real m_scores[kKeyBlock * kQueryBlock];      ///< Sᵀ, then Pᵀ
    alignas(64) Real m_sum[kLargestHead * kQueryBlock];      ///< Oᵀ before division
    alignas(64) Real m_top[kQueryBlock], m_shift[kQueryBlock], m_total[kQueryBlock];
};

template <class T>
struct ForwardItem {
    const AttentionProblem& problem;

    void operator()(Index item) const
    {
        const Index blocks = queryBlocks<Accumulator<T>>(problem.queries);
        ForwardBlock<T> block(problem);
        // the longest rows of a causal mask first, so that no thread is left with one at the end
        block.run(item / blocks / problem.heads, item / blocks % problem.heads,
                  blocks - 1 - item % blocks);
    }
};

template <class T>
void forwardByBlocks(Stream& stream, const AttentionProblem& p)
{
    const Index blocks = queryBlocks<Accumulator<T>>(p.queries);
    forEach(stream, p.batches * p.heads * blocks, ForwardItem<T>{p}, 1);
}

} // namespace attention_cpu
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
