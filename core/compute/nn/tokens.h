#pragma once

#include <cstdint>
#include <span>

#include "core/compute/nn/layers.h"

namespace vergence {

/// Learned vectors of token ids and of their places, as text towers begin with.
class TokenEmbedding {
public:
    TokenEmbedding() = default;
    TokenEmbedding(const Declaration& where, Index vocabulary, Index context, Index width);

    /// ids: texts × length numbers in host memory, length ≤ context → [texts, length, width].
    /// Throws ContractError for another count or an id beyond the vocabulary.
    Value operator()(const ForwardPass& pass, std::span<const std::int32_t> ids, Index texts) const;

    Index context() const { return m_context; }

private:
    Index m_vocabulary = 0, m_context = 0;
    int m_tokens = -1, m_positions = -1;
};

/// Rows of `table` by numbers in host memory.
Value gatherHostRows(Graph& graph, Value table, std::span<const std::int32_t> rows);

} // namespace vergence
