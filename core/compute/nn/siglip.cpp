#include "core/compute/nn/siglip.h"

#include <fmt/format.h>

#include "core/compute/nn/patches.h"

namespace vergence {

SiglipVisionTower::SiglipVisionTower(const Declaration& where, const TowerConfig& config, int patch,
                                     Index patches)
    : m_config(config),
      m_patch(patch)
{
    const Index width = config.width;
    const Declaration model = where.below("vision_model");
    const Declaration embeddings = model.below("embeddings");
    m_patches = declarePatches(embeddings.below("patch_embedding"), patch, width, true);
    m_positions = embeddings.table("position_embedding.weight", {patches, width});
    m_blocks = declareBlocks(model, "encoder.layers", config.layers, config.block(), kClipNames);
    m_postNorm = NormLayer::declare(model.below("post_layernorm"), width, config.epsilon, false);

    const Declaration head = model.below("head");
    m_probe = head.table("probe", {1, 1, width});
    m_headQkv.weight = head.matrix("attention.in_proj_weight", {3 * width, width});
    m_headQkv.bias = head.other("attention.in_proj_bias", {3 * width});
    m_headOut = LinearLayer::declare(head.below("attention.out_proj"), width, width);
    m_headNorm = NormLayer::declare(head.below("layernorm"), width, config.epsilon, false);
    m_headFc1 = LinearLayer::declare(head.below("mlp.fc1"), width, config.hidden);
    m_headFc2 = LinearLayer::declare(head.below("mlp.fc2"), config.hidden, width);
}

Value SiglipVisionTower::embed(const ForwardPass& pass, Value pixels) const
{
    const Value patches = embedPatches(pass, m_patches, pixels, m_patch);
    return pass.at(addBroadcast(pass.graph, patches, pass[m_positions]), -1, Site::PositionAdd);
}

Value SiglipVisionTower::states(const ForwardPass& pass, Value pixels) const
{
    Value tokens = embed(pass, pixels);
    for (std::size_t i = 0; i < m_blocks.size(); ++i)
        tokens = m_blocks[i](pass, tokens, static_cast<int>(i), m_blocks[i].attention());
    return m_postNorm(pass, tokens);
}

Value SiglipVisionTower::pool(const ForwardPass& pass, Value states) const
{
    Graph& graph = pass.graph;
    const Shape shape = graph.shape(states);
    const Index batch = shape[0], tokens = shape[1], width = shape[2];
    const Index heads = m_config.heads, size = width / heads;
    const int block = static_cast<int>(m_blocks.size());
    // Every image asks the same: its query is computed once.
    const Value probe = reshape(graph, pass[m_probe], {1, width});
    const Value asked = broadcastLeading(graph, m_headQkv.rows(pass, probe, 0, width), batch);
    const Value held = m_headQkv.rows(pass, states, width, 2 * width);
    const Value query = pass.at(asked, block, Site::Qkv);
    const Value keysAndValues = pass.at(held, block, Site::Qkv);
    const Value split = reshape(graph, keysAndValues, {batch, tokens, 2 * heads, size});
    const Value context =
        attention(graph, reshape(graph, query, {batch, 1, heads, size}),
                  narrow(graph, split, 2, 0, heads), narrow(graph, split, 2, heads, heads));
    const Value flat = reshape(graph, context, {batch, width});
    const Value pooled = pass.at(m_headOut(pass, flat), block, Site::AttentionOutput);
    const Value normed = m_headNorm(pass, pooled);
    if (!pass.hook)
        return m_headFc2(pass, m_headFc1(pass, normed, m_config.activation), Activation::None,
                         pooled);
    const Value inner = pass.at(m_headFc1(pass, normed), block, Site::Fc1);
    const Value active =
        pass.at(activate(graph, m_config.activation, inner), block, Site::AfterActivation);
    return add(graph, pass.at(m_headFc2(pass, active), block, Site::Fc2), pooled);
}

Value SiglipVisionTower::operator()(const ForwardPass& pass, Value pixels) const
{
    return pool(pass, states(pass, pixels));
}

SiglipTextTower::SiglipTextTower(const Declaration& where, const TowerConfig& config,
                                 Index vocabulary, Index context, Index projection)
{
    const Declaration model = where.below("text_model");
    m_embedding = TokenEmbedding(model.below("embeddings"), vocabulary, context, config.width);
    m_blocks = declareBlocks(model, "encoder.layers", config.layers, config.block(), kClipNames);
    m_norm =
        NormLayer::declare(model.below("final_layer_norm"), config.width, config.epsilon, false);
    m_head = LinearLayer::declare(model.below("head"), config.width, projection);
}

Value SiglipTextTower::operator()(const ForwardPass& pass, std::span<const std::int32_t> ids,
                                  Index texts) const
{
    const Index context = m_embedding.context();
    expects(texts > 0 && static_cast<Index>(ids.size()) == texts * context,
            fmt::format("SiglipTextTower: {} ids are not {} texts of {} each; shorter texts are "
                        "padded",
                        ids.size(), texts, context));
    Graph& graph = pass.graph;
    Value x = m_embedding(pass, ids, texts);
    for (std::size_t i = 0; i < m_blocks.size(); ++i)
        x = m_blocks[i](pass, x, static_cast<int>(i), m_blocks[i].attention());
    const Index width = graph.shape(x).back();
    const Value last = reshape(graph, narrow(graph, x, 1, context - 1, 1), {texts, width});
    return m_head(pass, m_norm(pass, last));
}

} // namespace vergence
