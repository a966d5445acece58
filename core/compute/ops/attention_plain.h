#pragma once

// For kernel files: attention with one item per thread, straight from the formulas.

#include <cmath>

#include "core/compute/half.h"
#include "core/compute/launch.h"
#include "core/compute/ops/attention_math.h"

namespace vergence {
inline namespace VERGENCE_KERNEL_NAMESPACE {
namespace attention_plain {

VERGENCE_HD float exponential(float x)
{
    return expf(x);
}
VERGENCE_HD double exponential(double x)
{
    return exp(x);
}
VERGENCE_HD float logarithm(float x)
{
    return logf(x);
}
VERGENCE_HD double logarithm(double x)
{
    return log(x);
}

template <class T, class Real>
VERGENCE_HD Real dot(const T* a, const T* b, Index size)
{
    Real sum = 0;
    for (Index j = 0; j < size; ++j)
        sum += static_cast<Real>(a[j]) * static_cast<Real>(b[j]);
    return sum;
}

/// scale · q·k + bias
template <class T, class Real>
VERGENCE_HD Real score(const AttentionProblem& p, Index b, Index h, Index query, Index key)
{
    const Real s = dot<const T, Real>(p.q.at<const T>(b, query, h),
                                      p.k.at<const T>(b, key, h / p.group()), p.size) *
                   static_cast<Real>(p.scale);
    return p.bias.data ? s + *p.bias.at<Real>(b, h, query, key) : s;
}

/// One query of one head. Item: (b · H + h) · Sq + query.
template <class T>
struct Forward {
    using Real = Accumulator<T>;
    AttentionProblem problem;

    VERGENCE_HD void operator()(Index item) const
    {
        const AttentionProblem& p = problem;
        const Index query = item % p.queries, h = item / p.queries % p.heads;
        const Index b = item / p.queries / p.heads;
        const KeyRange seen = p.mask.range(b, query);
        Real top = -Real(INFINITY), total = 0, sum[kLargestHead];
        for (Index j = 0; j < p.size; ++j)
            sum[j] = 0;
        for (Index key = seen.first; key < seen.last; ++key) {
            const Real s = score<T, Real>(p, b, h, query, key);
            if (s == -Real(INFINITY))
                continue;
            if (s > top) {
                const Real factor = exponential(top - s);
                total *= factor;
                for (Index j = 0; j < p.size; ++j)
                    sum[j] *= factor;
                top = s;
            }
            const Real weight = exponential(s - top);
            const T* value = p.v.at<const T>(b, key, h / p.group());
            total += weight;
            for (Index j = 0; j < p.size; ++j)
                sum[j] += weight * static_cast<Real>(value[j]);
        }
        T* out = p.o.at<T>(b, query, h);
        for (Index j = 0; j < p.size; ++j)
            out[j] = static_cast<T>(total == 0 ? Real(0) : sum[j] / total);
        if (p.logSumExp)
            static_cast<Real*>(p.logSumExp)[item] =
                total == 0 ? -Real(INFINITY) : top + logarithm(total);
    }
};

/// Probability of a key for a query from the query's log-sum-exp.
template <class T, class Real>
VERGENCE_HD Real probability(const AttentionProblem& p, Index b, Index h, Index query, Index key)
{
    const Real logSumExp = static_cast<const Real*>(p.logSumExp)[p.rowOf(b, h, query)];
    if (logSumExp == -Real(INFINITY))
        return 0;
    return exponential(score<T, Real>(p, b, h, query, key) - logSumExp);
}

/// delta and gradQ of one query of one head.
template <class T>
struct BackwardQuery {
    using Real = Accumulator<T>;
    AttentionProblem problem;

    VERGENCE_HD void operator()(Index item) const
    {
        const AttentionProblem& p = problem;
        const Index query = item % p.queries, h = item / p.queries % p.heads;
        const Index b = item / p.queries / p.heads;
        const T* gradO = p.gradO.at<const T>(b, query, h);
        const Real delta = dot<const T, Real>(gradO, p.o.at<const T>(b, query, h), p.size);
        static_cast<Real*>(p.delta)[item] = delta;
        const KeyRange seen = p.mask.range(b, query);
        Real sum[kLargestHead];
        for (Index j = 0; j < p.size; ++j)
            sum[j] = 0;
        for (Index key = seen.first; key < seen.last; ++key) {
            const Real weight = probability<T, Real>(p, b, h, query, key);
            const Real gradP =
                dot<const T, Real>(gradO, p.v.at<const T>(b, key, h / p.group()), p.size);
            const Real gradS = weight * (gradP - delta) * static_cast<Real>(p.scale);
            const T* k = p.k.at<const T>(b, key, h / p.group());
            for (Index j = 0; j < p.size; ++j)
                sum[j] += gradS * static_cast<Real>(k[j]);
        }
        T* out = p.gradQ.at<T>(b, query, h);
        for (Index j = 0; j < p.size; ++j)
            out[j] = static_cast<T>(sum[j]);
    }
};

/// gradK and gradV of one key of one key head; after BackwardQuery. Item: (b · Hkv + h) · Sk + key.
template <class T>
struct BackwardKey {
    using Real = Accumulator<T>;
    AttentionProblem problem;

    VERGENCE_HD void operator()(Index item) const
    {
        const AttentionProblem& p = problem;
        const Index key = item % p.keys, keyHead = item / p.keys % p.keyHeads;
        const Index b = item / p.keys / p.keyHeads;
        Real sumK[kLargestHead], sumV[kLargestHead];
        for (Index j = 0; j < p.size; ++j)
            sumK[j] = sumV[j] = 0;
        for (Index h = keyHead * p.group(); h < (keyHead + 1) * p.group(); ++h) {
            for (Index query = 0; query < p.queries; ++query) {
                const KeyRange seen = p.mask.range(b, query);
                if (key < seen.first || key >= seen.last)
                    continue;
                const T* gradO = p.gradO.at<const T>(b, query, h);
                const T* q = p.q.at<const T>(b, query, h);
                const Real weight = probability<T, Real>(p, b, h, query, key);
                const Real gradP =
                    dot<const T, Real>(gradO, p.v.at<const T>(b, key, keyHead), p.size);
                const Real delta = static_cast<const Real*>(p.delta)[p.rowOf(b, h, query)];
                const Real gradS = weight * (gradP - delta) * static_cast<Real>(p.scale);
                for (Index j = 0; j < p.size; ++j) {
                    sumV[j] += weight * static_cast<Real>(gradO[j]);
                    sumK[j] += gradS * static_cast<Real>(q[j]);
                }
            }
        }
        T *gradK = p.gradK.at<T>(b, key, keyHead), *gradV = p.gradV.at<T>(b, key, keyHead);
        for (Index j = 0; j < p.size; ++j) {
            gradK[j] = static_cast<T>(sumK[j]);
            gradV[j] = static_cast<T>(sumV[j]);
        }
    }
};

template <class T>
void forward(Stream& stream, const AttentionProblem& p)
{
    forEach(stream, p.batches * p.heads * p.queries, Forward<T>{p}, 8);
}

template <class T>
void backward(Stream& stream, const AttentionProblem& p)
{
    forEach(stream, p.batches * p.heads * p.queries, BackwardQuery<T>{p}, 8);
    forEach(stream, p.batches * p.keyHeads * p.keys, BackwardKey<T>{p}, 8);
}

} // namespace attention_plain
} // namespace VERGENCE_KERNEL_NAMESPACE
} // namespace vergence
