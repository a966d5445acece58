#pragma once

#include <span>
#include <vector>

#include "core/compute/nn/llama.h"

namespace vergence::fvlm {

/// A language model that reads sequences of different lengths piece by piece, each at its own
/// position, with the keys and values of all it has read. No gradients. The memory is its own, so
/// tapes may be reset in between.
class CachedLanguage {
public:
    /// Throws ContractError where the pass records gradients.
    CachedLanguage(const ForwardPass& pass, const LlamaModel& model, Index sequences,
                   Index capacity);

    /// x [sequences, S, H], of which the first counts[i] rows of sequence i are read (0 … S) →
    /// states [sequences · S, H]; those of rows that were not read mean nothing. Throws
    /// ContractError where the capacity is exceeded.
    Value extend(const ForwardPass& pass, Value x, std::span<const Index> counts);

    const std::vector<Index>& lengths() const { return m_lengths; } ///< read so far

private:
    struct Step; ///< tables of one extension

    Step prepare(Graph& graph, Index added, std::span<const Index> counts) const;
    Value attend(Graph& graph, Value qkv, std::size_t layer, const Step& step) const;

    const LlamaModel& m_model;
    Index m_sequences, m_capacity;
    std::vector<Index> m_lengths;
    std::vector<Tensor> m_keys, m_values; ///< per layer [sequences, capacity, keyHeads, headSize]
};

} // namespace vergence::fvlm
