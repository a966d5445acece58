#include "core/compute/nn/clip.h"

#include <algorithm>

#include "core/compute/nn/patches.h"

namespace vergence {

BlockConfig TowerConfig::block() const
{
    BlockConfig block;
    block.width = width;
    block.heads = heads;
    block.hidden = hidden;
    block.activation = activation;
    block.epsilon = epsilon;
    return block;
}

ClipVisionTower::ClipVisionTower(const Declaration& where, const TowerConfig& config, int patch,
                                 Index patches, Index projection)
    : m_patch(patch)
{
    const Declaration model = where.below("vision_model");
    const Declaration embeddings = model.below("embeddings");
    m_classEmbedding = embeddings.table("class_embedding", {config.width});
    m_patches = declarePatches(embeddings.below("patch_embedding"), patch, config.width, false);
    m_positions = embeddings.table("position_embedding.weight", {patches + 1, config.width});
    m_preNorm = NormLayer::declare(model.below("pre_layrnorm"), config.width, config.epsilon,
                                   false); // spelt so in every file
    m_blocks = declareBlocks(model, "encoder.layers", config.layers, config.block(), kClipNames);
    m_postNorm =
        NormLayer::declare(model.below("post_layernorm"), config.width, config.epsilon, false);
    m_projection =
        LinearLayer::declare(where.below("visual_projection"), config.width, projection, false);
}

Value ClipVisionTower::embed(const ForwardPass& pass, Value pixels) const
{
    Graph& graph = pass.graph;
    const Value patches = embedPatches(pass, m_patches, pixels, m_patch);
    const Index width = graph.shape(patches).back();
    const Value first = broadcastLeading(graph, reshape(graph, pass[m_classEmbedding], {1, width}),
                                         graph.shape(patches).front());
    const Value tokens = concat(graph, {first, patches}, 1);
    const Value placed = addBroadcast(graph, tokens, pass[m_positions]);
    return m_preNorm(pass, pass.at(placed, -1, Site::PositionAdd));
}

Value ClipVisionTower::pool(const ForwardPass& pass, Value tokens) const
{
    const Shape shape = pass.graph.shape(tokens);
    const Value first = narrow(pass.graph, tokens, 1, 0, 1);
    const Value normed = m_postNorm(pass, reshape(pass.graph, first, {shape[0], shape[2]}));
    return pass.at(m_projection(pass, normed), -1, Site::FinalProjection);
}

Value ClipVisionTower::operator()(const ForwardPass& pass, Value pixels) const
{
    Value tokens = embed(pass, pixels);
    for (std::size_t i = 0; i < m_blocks.size(); ++i)
        tokens = m_blocks[i](pass, tokens, static_cast<int>(i), m_blocks[i].attention());
    return pool(pass, tokens);
}

ClipTextTower::ClipTextTower(const Declaration& where, const TowerConfig& config, Index vocabulary,
                             Index context, Index projection)
{
    const Declaration model = where.below("text_model");
    m_embedding = TokenEmbedding(model.below("embeddings"), vocabulary, context, config.width);
    m_blocks = declareBlocks(model, "encoder.layers", config.layers, config.block(), kClipNames);
    m_norm =
        NormLayer::declare(model.below("final_layer_norm"), config.width, config.epsilon, false);
    m_projection =
        LinearLayer::declare(where.below("text_projection"), config.width, projection, false);
}

namespace {
/// Row of the first position that holds the largest id, per text.
std::vector<std::int32_t> pooledRows(std::span<const std::int32_t> ids, Index texts)
{
    const std::size_t length = ids.size() / static_cast<std::size_t>(texts);
    std::vector<std::int32_t> rows;
    for (std::size_t text = 0; text < static_cast<std::size_t>(texts); ++text) {
        const auto row = ids.subspan(text * length, length);
        const auto at = std::max_element(row.begin(), row.end()) - row.begin();
        rows.push_back(static_cast<std::int32_t>(text * length) + static_cast<std::int32_t>(at));
    }
    return rows;
}
} // namespace

Value ClipTextTower::operator()(const ForwardPass& pass, std::span<const std::int32_t> ids,
                                Index texts) const
{
    Graph& graph = pass.graph;
    Value x = m_embedding(pass, ids, texts);
    AttentionArgs causal;
    causal.causal = true;
    for (std::size_t i = 0; i < m_blocks.size(); ++i)
        x = m_blocks[i](pass, x, static_cast<int>(i), m_blocks[i].attention(causal));
    const Shape shape = graph.shape(x);
    const Value rows = reshape(graph, x, {shape[0] * shape[1], shape[2]});
    const Value pooled = gatherHostRows(graph, rows, pooledRows(ids, texts));
    return m_projection(pass, m_norm(pass, pooled));
}

} // namespace vergence
