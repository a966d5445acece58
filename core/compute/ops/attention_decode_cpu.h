#pragma once

// For the CPU builds of kernel files: attention of a few queries, as when a text is written token
// by token. Lanes are numbers of a head, not queries; keys are cut into parts that are joined in
// order (Flash-Decoding, 2023).

#include "core/compute/launch.h"
#include "core/compute/ops/attention_product_cpu.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_cpu {

/// Where it beats whole vectors of queries.
template <class T>
bool suitsDecoding(const AttentionProblem& p)
{
    return p.queries <= kLanes<Accumulator<T>> / 4;
}

/// Parts of the keys and where they leave maximum, total and sum: [B, H, Sq, parts, stride].
template <class T>
struct DecodePlan {
    using Real = Accumulator<T>;
    static constexpr Index kHeader = 64 / static_cast<Index>(sizeof(Real)); ///< before each sum
    Index parts = 1, partKeys = 0, stride = 0;
    Real* results = nullptr;

    explicit DecodePlan(const AttentionProblem& p)
    {
        constexpr Index kEnoughItems = 32, kShortest = 256;
        const Index lists = p.batches * p.keyHeads;
        const Index wanted = (kEnoughItems + lists - 1) / lists, possible = p.keys / kShortest;
        parts = wanted < possible ? wanted : possible;
        parts = parts > 1 ? parts : 1;
        partKeys = (p.keys + parts - 1) / parts;
        stride = kHeader + roundedToLanes<Real>(p.size);
    }
    Real* result(Index row, Index part) const { return results + (row * parts + part) * stride; }
};

template <class T>
class DecodePart {
public:
    using Real = Accumulator<T>;
    static constexpr int kWidth = kLanes<Real>;
    static constexpr int kMostParts = static_cast<int>(kLargestHead) / kWidth;

    DecodePart(const AttentionProblem& problem, const DecodePlan<T>& plan)
        : m_problem(problem),
          m_plan(plan)
    {
    }

    void run(Index item)
    {
        const AttentionProblem& p = m_problem;
        const Index part = item % m_plan.parts, keyHead = item / m_plan.parts % p.keyHeads;
        const Index b = item / m_plan.parts / p.keyHeads;
        for (Index h = keyHead * p.group(); h < (keyHead + 1) * p.group(); ++h) {
            for (Index query = 0; query < p.queries; ++query)
                row(b, h, keyHead, query, part);
        }
    }

private:
    void row(Index b, Index h, Index keyHead, Index query, Index part)
    {
        const AttentionProblem& p = m_problem;
        const KeyRange seen = p.mask.range(b, query);
        const Index partBegin = part * m_plan.partKeys, partEnd = partBegin + m_plan.partKeys;
        const Index begin = seen.first > partBegin ? seen.first : partBegin;
        const Index end = seen.last < partEnd ? seen.last : partEnd;
        Real* result = m_plan.result(p.rowOf(b, h, query), part);
        m_sum = result + DecodePlan<T>::kHeader;
        m_top = -kInfinity<Real>, m_total = 0;
        for (Index j = 0; j < p.size; j += kWidth)
            lanes::store(m_sum + j, Vector<Real>{});
        gatherRows<T>(p.q, b, query, 1, h, p.size, m_query);
        for (Index j = 0; j < p.size; ++j)
            m_query[j] *= static_cast<Real>(p.scale) * kLog2e<Real>;
        for (Index key = begin; key < end; key += kKeyBlock) {
            const Index left = end - key, count = left < kKeyBlock ? left : kKeyBlock;
            step(b, h, keyHead, query, key, count);
        }
        result[0] = m_top;
        result[1] = m_total;
    }

    void step(Index b, Index h, Index keyHead, Index query, Index key, Index count)
    {
        const AttentionProblem& p = m_problem;
        const Index whole = (count + kWidth - 1) / kWidth * kWidth;
        const Real* keys = rows(p.k, b, key, count, keyHead);
        for (Index k = 0; k < count; k += kWidth)
            lanes::store(m_scores + k, scores(keys + k * m_stride, count - k));
        for (Index k = 0; p.bias.data && k < count; ++k)
            m_scores[k] += *p.bias.at<Real>(b, h, query, key + k) * kLog2e<Real>;
        for (Index k = count; k < whole; ++k)
            m_scores[k] = -kInfinity<Real>;
        Real top = m_top;
        for (Index k = 0; k < count; ++k)
            top = m_scores[k] > top ? m_scores[k] : top;
        if (top == -kInfinity<Real>)
            return;
        rescale(top);
        Vector<Real> total{};
        for (Index k = 0; k < whole; k += kWidth) {
            const Vector<Real> w = lanes::powerOfTwo(lanes::load(m_scores + k) - m_top);
            lanes::store(m_scores + k, w);
            total += w;
        }
        for (int i = 0; i < kWidth; ++i)
            m_total += total[i];
        addValues(rows(p.v, b, key, count, keyHead), count);
    }

    /// Rows where they lie, or copied where they need conversion or padding.
    const Real* rows(const AttentionRows& from, Index b, Index first, Index count, Index h)
    {
        if constexpr (std::is_same_v<T, Real>) {
            if (m_problem.size % kWidth == 0) {
                m_stride = from.row;
                return from.template at<Real>(b, first, h);
            }
        }
        m_stride = kRowStride<Real>;
        gatherRows<T>(from, b, first, count, h, m_problem.size, m_rows);
        return m_rows;
    }

    /// Products of the query with kLanes rows, or fewer.
    Vector<Real> scores(const Real* keys, Index count) const
    {
        Vector<Real> sums[kWidth];
        if (count >= kWidth) {
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                sums[i] = score(keys + i * m_stride);
        } else {
            for (int i = 0; i < kWidth; ++i)
                sums[i] = i < count ? score(keys + i * m_stride) : Vector<Real>{};
        }
        return lanes::sumsOf<Real>(sums);
    }
    VERGENCE_HD Vector<Real> score(const Real* key) const
    {
        Vector<Real> sum = lanes::load(m_query) * lanes::load(key);
        for (Index j = kWidth; j < m_problem.size; j += kWidth)
            sum = lanes::multiplyAdd(lanes::load(m_query + j), lanes::load(key + j), sum);
        return sum;
    }

    void rescale(Real top)
    {
        if (top == m_top)
            return;
        const Vector<Real> factor = lanes::powerOfTwo(lanes::spread(m_top) - top);
        m_top = top;
        m_total *= factor[0];
        for (Index j = 0; j < m_problem.size; j += kWidth)
            lanes::store(m_sum + j, lanes::load(m_sum + j) * factor);
    }

    void addValues(const Real* values, Index count)
    {
        const Index vectors = roundedToLanes<Real>(m_problem.size) / kWidth;
        for (Index v = 0; v < vectors; v += 4) {
            const Index n = vectors - v < 4 ? vectors - v : 4;
            if (n == 4)
                addColumns<4>(values + v * kWidth, count, m_sum + v * kWidth);
            else
                for (Index i = v; i < v + n; ++i)
                    addColumns<1>(values + i * kWidth, count, m_sum + i * kWidth);
        }
    }
    template <int Vectors>
    VERGENCE_HD void addColumns(const Real* values, Index count, Real* to) const
    {
        Vector<Real> sum[2][Vectors];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
            sum[0][v] = lanes::load(to + v * kWidth);
            sum[1][v] = Vector<Real>{};
        }
        for (Index k = 0; k < count; ++k) {
            const Vector<Real> weight = lanes::spread(m_scores[k]);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v)
                sum[0][v] = lanes::multiplyAdd(
                    weight, lanes::load(values + k * m_stride + v * kWidth), sum[0][v]);
            if (++k == count)
                break;
            const Vector<Real> next = lanes::spread(m_scores[k]);
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v)
                sum[1][v] = lanes::multiplyAdd(
                    next, lanes::load(values + k * m_stride + v * kWidth), sum[1][v]);
        }
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
            lanes::store(to + v * kWidth, sum[0][v] + sum[1][v]);
    }

    const AttentionProblem& m_problem;
    const DecodePlan<T>& m_plan;
    Real m_top = 0, m_total = 0;
    Real* m_sum = nullptr;
    Index m_stride = 0;
    alignas(64) Real m_query[kRowStride<Real>];
    alignas(64) Real m_scores[kKeyBlock];
    alignas(64) Real m_rows[kKeyBlock * kRowStride<Real>];
};

template <class T>
struct DecodeItem {
    const AttentionProblem& problem;
    const DecodePlan<T>& plan;

    void operator()(Index item) const { DecodePart<T>(problem, plan).run(item); }
};

/// Joins the parts of one query of one head, in order.
template <class T>
struct JoinParts {
    const AttentionProblem& problem;
    const DecodePlan<T>& plan;

    void operator()(Index row) const
    {
        using Real = Accumulator<T>;
        const AttentionProblem& p = problem;
        Real top = -kInfinity<Real>, total = 0;
        for (Index part = 0; part < plan.parts; ++part)
            top = plan.result(row, part)[0] > top ? plan.result(row, part)[0] : top;
        alignas(64) Real sum[kLargestHead] = {};
        for (Index part = 0; part < plan.parts && top != -kInfinity<Real>; ++part) {
            const Real* result = plan.result(row, part);
            const Vector<Real> factor = lanes::powerOfTwo(lanes::spread(result[0]) - top);
            total += result[1] * factor[0];
            for (Index j = 0; j < p.size; j += kLanes<Real>)
                lanes::store(sum + j, lanes::multiplyAdd(
                                          factor, lanes::load(result + DecodePlan<T>::kHeader + j),
                                          lanes::load(sum + j)));
        }
        const Real inverse = total == 0 ? Real(0) : Real(1) / total;
        for (Real& value : sum)
            value *= inverse;
        const Index query = row % p.queries, h = row / p.queries % p.heads;
        lanes::narrowTo(sum, p.size, p.o.template at<T>(row / p.queries / p.heads, query, h));
        if (p.logSumExp)
            static_cast<Real*>(p.logSumExp)[row] =
                total == 0 ? -kInfinity<Real> : top * kLn2<Real> + logOf(total);
    }
};

template <class T>
void decode(Stream& stream, const AttentionProblem& p)
{
    DecodePlan<T> plan(p);
    const Index rows = p.batches * p.heads * p.queries;
    plan.results = static_cast<Accumulator<T>*>(stream.scratch(
        static_cast<std::size_t>(rows * plan.parts * plan.stride) * sizeof(Accumulator<T>)));
    forEach(stream, p.batches * p.keyHeads * plan.parts, DecodeItem<T>{p, plan}, 1);
    forEach(stream, rows, JoinParts<T>{p, plan}, 256);
}

} // namespace attention_cpu
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
