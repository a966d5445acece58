#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::test {

/// One call of attention() in numbers a reader can follow; inputs in double.
struct AttentionCase {
    std::string name;
    Index batches = 1, queries = 5, keys = 5, heads = 1, keyHeads = 1, size = 4;
    bool causal = false;
    Index cacheOffset = 0;
    std::vector<std::int32_t> keyCounts, segmentStarts;
    Shape biasShape;          ///< empty: none
    double scale = 0;         ///< as in AttentionArgs
    double spread = 1;        ///< largest |q|, |k|
    bool hidesByBias = false; ///< some entries of the bias are −∞

    std::vector<double> q, k, v, bias, gradO; ///< filled by fill()

    /// Numbers in [−spread, spread] that repeat for a seed.
    static std::vector<double> numbers(std::size_t count, std::uint32_t seed, double spread)
    {
        std::vector<double> values(count);
        std::uint32_t state = seed * 2654435761u + 12345u;
        for (double& value : values) {
            state = state * 1664525u + 1013904223u;
            value = spread * (static_cast<double>(state >> 8) / 8388608.0 - 1);
        }
        return values;
    }
    void fill()
    {
        const auto queryCount = static_cast<std::size_t>(batches * queries * heads * size);
        const auto keyCount = static_cast<std::size_t>(batches * keys * keyHeads * size);
        q = numbers(queryCount, 1, spread);
        k = numbers(keyCount, 2, spread);
        v = numbers(keyCount, 3, 1);
        gradO = numbers(queryCount, 4, 1);
        if (!biasShape.empty())
            bias = numbers(static_cast<std::size_t>(elementCount(biasShape)), 5, 2);
        for (std::size_t i = 0; hidesByBias && i < bias.size(); i += 3)
            bias[i] = -std::numeric_limits<double>::infinity();
    }

    bool sees(Index b, Index query, Index key) const
    {
        bool visible = !causal || key <= query + cacheOffset;
        if (!keyCounts.empty())
            visible = visible && key < keyCounts[static_cast<std::size_t>(b)];
        if (!segmentStarts.empty()) {
            bool together = false;
            for (std::size_t s = 0; s + 1 < segmentStarts.size(); ++s) {
                const auto inside = [&](Index i) {
                    return i >= segmentStarts[s] && i < segmentStarts[s + 1];
                };
                together = together || (inside(query) && inside(key));
            }
            visible = visible && together;
        }
        return visible;
    }
    double biasAt(Index b, Index h, Index query, Index key) const
    {
        if (biasShape.empty())
            return 0;
        const auto at = [&](int d, Index i) {
            return biasShape[static_cast<std::size_t>(d)] == 1 ? 0 : i;
        };
        const Index offset =
            ((at(0, b) * biasShape[1] + at(1, h)) * biasShape[2] + at(2, query)) * keys + key;
        return bias[static_cast<std::size_t>(offset)];
    }
};

struct AttentionResult {
    std::vector<double> o, logSumExp, gradQ, gradK, gradV;
};

/// Straight from softmax(scale · QKᵀ + bias) V and its derivative, in double.
inline AttentionResult attentionReference(const AttentionCase& c)
{
    const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.size));
    const Index group = c.heads / c.keyHeads;
    AttentionResult r;
    r.o.assign(c.q.size(), 0), r.gradQ = r.o;
    r.gradK.assign(c.k.size(), 0), r.gradV = r.gradK;
    const auto atQ = [&](Index b, Index s, Index h) {
        return static_cast<std::size_t>(((b * c.queries + s) * c.heads + h) * c.size);
    };
    const auto atK = [&](Index b, Index s, Index h) {
        return static_cast<std::size_t>(((b * c.keys + s) * c.keyHeads + h / group) * c.size);
    };
    const auto d = static_cast<std::size_t>(c.size);
    std::vector<double> p(static_cast<std::size_t>(c.keys));
    for (Index b = 0; b < c.batches; ++b) {
        for (Index h = 0; h < c.heads; ++h) {
            for (Index i = 0; i < c.queries; ++i) {
                const std::size_t query = atQ(b, i, h);
                double top = -HUGE_VAL, total = 0, delta = 0;
                for (Index j = 0; j < c.keys; ++j) {
                    double s = -HUGE_VAL;
                    if (c.sees(b, i, j)) {
                        s = c.biasAt(b, h, i, j);
                        for (std::size_t e = 0; e < d; ++e)
                            s += scale * c.q[query + e] * c.k[atK(b, j, h) + e];
                    }
                    p[static_cast<std::size_t>(j)] = s;
                    top = std::max(top, s);
                }
                for (double& value : p) {
                    value = top == -HUGE_VAL ? 0 : std::exp(value - top);
                    total += value;
                }
                r.logSumExp.push_back(total == 0 ? -HUGE_VAL : top + std::log(total));
                for (Index j = 0; j < c.keys; ++j) {
                    double& weight = p[static_cast<std::size_t>(j)];
                    weight = total == 0 ? 0 : weight / total;
                    for (std::size_t e = 0; e < d; ++e)
                        r.o[query + e] += weight * c.v[atK(b, j, h) + e];
                }
                for (std::size_t e = 0; e < d; ++e)
                    delta += c.gradO[query + e] * r.o[query + e];
                for (Index j = 0; j < c.keys; ++j) {
                    const std::size_t key = atK(b, j, h);
                    const double weight = p[static_cast<std::size_t>(j)];
                    double gradP = 0;
                    for (std::size_t e = 0; e < d; ++e)
                        gradP += c.gradO[query + e] * c.v[key + e];
                    const double gradS = scale * weight * (gradP - delta);
                    for (std::size_t e = 0; e < d; ++e) {
                        r.gradV[key + e] += weight * c.gradO[query + e];
                        r.gradQ[query + e] += gradS * c.k[key + e];
                        r.gradK[key + e] += gradS * c.q[query + e];
                    }
                }
            }
        }
    }
    return r;
}

} // namespace vergence::test
