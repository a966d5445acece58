#include "core/compute/nn/tokens.h"

#include <algorithm>

#include <fmt/format.h>

namespace vergence {

TokenEmbedding::TokenEmbedding(const Declaration& where, Index vocabulary, Index context,
                               Index width)
    : m_vocabulary(vocabulary),
      m_context(context)
{
    m_tokens = where.table("token_embedding.weight", {vocabulary, width});
    m_positions = where.table("position_embedding.weight", {context, width}, 0.01);
}

Value TokenEmbedding::operator()(const ForwardPass& pass, std::span<const std::int32_t> ids,
                                 Index texts) const
{
    const auto count = static_cast<Index>(ids.size());
    expects(texts > 0 && count > 0 && count % texts == 0 && count / texts <= m_context,
            fmt::format("TokenEmbedding: {} ids are not {} texts of at most {} tokens", count,
                        texts, m_context));
    expects(std::all_of(ids.begin(), ids.end(),
                        [this](std::int32_t id) { return id >= 0 && id < m_vocabulary; }),
            fmt::format("TokenEmbedding: an id is not in the vocabulary of {}", m_vocabulary));
    Graph& graph = pass.graph;
    const Index length = count / texts;
    const Value table = pass[m_tokens];
    const Index width = graph.shape(table).back();
    const Value tokens = reshape(graph, gatherHostRows(graph, table, ids), {texts, length, width});
    return addBroadcast(graph, tokens,
                        graph.parameterRows(pass.parameters, m_positions, 0, length));
}

Value gatherHostRows(Graph& graph, Value table, std::span<const std::int32_t> rows)
{
    const Tensor tensor = graph.take({static_cast<Index>(rows.size())}, DType::I32);
    graph.stream().copy(tensor.data(), rows.data(), rows.size_bytes());
    return gatherRows(graph, table, tensor);
}

} // namespace vergence
