#include "core/compute/nn/llama.h"

#include <fmt/format.h>

#include "core/compute/ops/structure.h"

namespace vergence {

namespace {
BlockConfig blockConfig(const LlamaConfig& config)
{
    BlockConfig block;
    block.width = config.width;
    block.heads = config.heads;
    block.keyHeads = config.keyHeads;
    block.headSize = config.headSize;
    block.hidden = config.hidden;
    block.gated = true;
    block.rms = true;
    block.biases = false;
    block.epsilon = config.epsilon;
    block.deviation = config.deviation;
    return block;
}
} // namespace

LlamaModel::LlamaModel(const Declaration& where, const LlamaConfig& config) : m_config(config)
{
    const Declaration model = where.below("model");
    m_embedding =
        model.table("embed_tokens.weight", {config.vocabulary, config.width}, config.deviation);
    m_blocks = declareBlocks(model, "layers", config.layers, blockConfig(config), kLlamaNames);
    m_norm = NormLayer::declare(model.below("norm"), config.width, config.epsilon, true);
    if (!config.tied)
        m_head =
            where.matrix("lm_head.weight", {config.vocabulary, config.width}, config.deviation);
}

Value LlamaModel::embed(const ForwardPass& pass, const Tensor& ids) const
{
    Shape shape = ids.shape();
    shape.push_back(m_config.width);
    const Value rows = gatherRows(pass.graph, pass[m_embedding], ids.reshaped({ids.size()}));
    return reshape(pass.graph, rows, shape);
}

Value LlamaModel::states(const ForwardPass& pass, Value x, const AttentionArgs& attention,
                         const Tensor* positions) const
{
    AttentionArgs causal = attention;
    causal.causal = true;
    RopeArgs rotary;
    rotary.theta = m_config.theta;
    rotary.positions = positions;
    for (std::size_t i = 0; i < m_blocks.size(); ++i)
        x = m_blocks[i](pass, x, static_cast<int>(i), m_blocks[i].attention(causal, rotary));
    return m_norm(pass, x);
}

KeyValueCache LlamaModel::makeCache(const ParameterSet& parameters, Index batch,
                                    Index capacity) const
{
    const BlockConfig block = blockConfig(m_config);
    const Shape shape{batch, capacity, block.keyHeadCount(), block.headWidth()};
    KeyValueCache cache;
    cache.capacity = capacity;
    for (int i = 0; i < m_config.layers; ++i) {
        cache.keys.push_back(Tensor::empty(parameters.device(), shape, parameters.computeType()));
        cache.values.push_back(Tensor::empty(parameters.device(), shape, parameters.computeType()));
    }
    return cache;
}

Value LlamaModel::extend(const ForwardPass& pass, Value x, KeyValueCache& cache) const
{
    expects(!pass.graph.options().recordsGradients, "LlamaModel: a cache takes no gradients");
    const Index batch = pass.graph.shape(x)[0], added = pass.graph.shape(x)[1];
    const Index before = cache.length;
    expects(before + added <= cache.capacity,
            fmt::format("LlamaModel: {} positions do not fit a cache of {}", before + added,
                        cache.capacity));
    const BlockConfig block = blockConfig(m_config);
    const Index heads = block.heads, keyHeads = block.keyHeadCount(), size = block.headWidth();
    RopeArgs rotary;
    rotary.theta = m_config.theta;
    rotary.first = before;
    AttentionArgs args;
    args.causal = true;
    args.cacheOffset = before;
    for (std::size_t i = 0; i < m_blocks.size(); ++i) {
        const Tensor &keys = cache.keys[i], &values = cache.values[i];
        const auto attend = [&](Graph& graph, Value qkv) {
            const Value split = reshape(graph, qkv, {batch, added, heads + 2 * keyHeads, size});
            const Value turned = rope(graph, narrow(graph, split, 2, 0, heads + keyHeads), rotary);
            copyStrided(graph.stream(), graph.tensor(turned).narrow(2, heads, keyHeads),
                        keys.narrow(1, before, added));
            copyStrided(graph.stream(), graph.tensor(split).narrow(2, heads + keyHeads, keyHeads),
                        values.narrow(1, before, added));
            const Value context =
                attention(graph, narrow(graph, turned, 2, 0, heads),
                          graph.constant(keys.narrow(1, 0, before + added)),
                          graph.constant(values.narrow(1, 0, before + added)), args);
            return reshape(graph, context, {batch, added, heads * size});
        };
        x = m_blocks[i](pass, x, static_cast<int>(i), attend);
    }
    cache.length += added;
    return m_norm(pass, x);
}

Value LlamaModel::logits(const ForwardPass& pass, Value states) const
{
    return LinearLayer{head(), -1}(pass, states);
}

Value LlamaModel::loss(const ForwardPass& pass, Value states, const Tensor& labels) const
{
    return linearCrossEntropy(pass.graph, states, pass[head()], labels);
}

} // namespace vergence
