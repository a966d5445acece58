#pragma once

#include <span>
#include <vector>

#include "core/compute/tensor.h"

namespace vergence::fvlm {

/// What attention weights are like, means over visual tokens, blocks and heads.
struct AttentionMeasures {
    double entropy = 0;   ///< −Σ p ln p over all tokens of a frame, nats
    double uniform = 0;   ///< ln N, the entropy of looking everywhere alike
    double peak = 0;      ///< largest weight
    double classMass = 0; ///< weight of the class token
    double share() const { return uniform > 0 ? entropy / uniform : 0; } ///< of the uniform entropy
};
/// Sums them up over batches.
class AttentionMeter {
public:
    /// weights [M, blocks, heads, N] in host memory, the class token first where `hasClassToken`.
    void add(std::span<const double> weights, Index tokens, bool hasClassToken);
    AttentionMeasures measures() const;

private:
    AttentionMeasures m_sums;
    Index m_rows = 0, m_tokens = 0;
};

/// How alike what the model asks and sees is, means over visual tokens.
struct LikenessMeasures {
    double featureSimilarity = 0; ///< cos(coarse token, fine token)
    double querySimilarity = 0;   ///< cos(query of a frame, of the next); clips of one frame: none
    double queryDeviation = 0;    ///< of all numbers of all queries
};
class LikenessMeter {
public:
    /// Tokens of one clip, [frames, width] each; queries [frames, queryWidth].
    void add(std::span<const double> coarse, std::span<const double> fine, Index width,
             std::span<const double> queries, Index queryWidth);
    LikenessMeasures measures() const;

private:
    double m_features = 0, m_queries = 0, m_sum = 0, m_squares = 0;
    Index m_tokens = 0, m_pairs = 0, m_numbers = 0;
};

/// Cosine of two vectors; 0 where one of them is 0.
double cosine(std::span<const double> a, std::span<const double> b);

} // namespace vergence::fvlm
