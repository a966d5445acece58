#include "core/compute/nn/block.h"

#include <fmt/format.h>

namespace vergence {

const BlockNames kDinoNames{"norm1",
                            "attention.attention.query",
                            "attention.attention.key",
                            "attention.attention.value",
                            "attention.output.dense",
                            "norm2",
                            "mlp.fc1",
                            "",
                            "mlp.fc2",
                            "layer_scale1.lambda1",
                            "layer_scale2.lambda1"};
const BlockNames kClipNames{"layer_norm1",
                            "self_attn.q_proj",
                            "self_attn.k_proj",
                            "self_attn.v_proj",
                            "self_attn.out_proj",
                            "layer_norm2",
                            "mlp.fc1",
                            "",
                            "mlp.fc2",
                            "",
                            ""};
const BlockNames kLlamaNames{"input_layernorm",
                             "self_attn.q_proj",
                             "self_attn.k_proj",
                             "self_attn.v_proj",
                             "self_attn.o_proj",
                             "post_attention_layernorm",
                             "mlp.up_proj",
                             "mlp.gate_proj",
                             "mlp.down_proj",
                             "",
                             ""};

namespace {
/// Weight (and bias) of several layers in one, each with a window of its own name.
LinearLayer declareJoined(const Declaration& where, const std::string& name,
                          const std::vector<std::pair<std::string, Index>>& parts, Index in,
                          const BlockConfig& config)
{
    Index out = 0;
    for (const auto& [part, rows] : parts)
        out += rows;
    LinearLayer layer;
    layer.weight = where.matrix(name + ".weight", {out, in}, config.deviation);
    if (config.biases)
        layer.bias = where.other(name + ".bias", {out});
    Index first = 0;
    for (const auto& [part, rows] : parts) {
        where.window(part + ".weight", layer.weight, first, rows);
        if (config.biases)
            where.window(part + ".bias", layer.bias, first, rows);
        first += rows;
    }
    return layer;
}

LinearLayer declareLinear(const Declaration& where, const std::string& name, Index in, Index out,
                          const BlockConfig& config)
{
    LinearLayer layer;
    layer.weight = where.matrix(name + ".weight", {out, in}, config.deviation);
    if (config.biases)
        layer.bias = where.other(name + ".bias", {out});
    return layer;
}
} // namespace

TransformerBlock::TransformerBlock(const Declaration& where, const BlockConfig& config,
                                   const BlockNames& names)
    : m_config(config)
{
    expects(config.width > 0 && config.heads > 0 && config.hidden > 0 &&
                (config.headSize > 0 || config.width % config.heads == 0) &&
                config.heads % config.keyHeadCount() == 0,
            fmt::format("TransformerBlock: width {}, {} heads, {} key heads and {} hidden units do "
                        "not fit",
                        config.width, config.heads, config.keyHeadCount(), config.hidden));
    const Index size = config.headWidth(), queries = config.heads * size;
    const Index keys = config.keyHeadCount() * size;
    m_norm1 =
        NormLayer::declare(where.below(names.norm1), config.width, config.epsilon, config.rms);
    m_qkv = declareJoined(where, "attention.qkv",
                          {{names.query, queries}, {names.key, keys}, {names.value, keys}},
                          config.width, config);
    m_output = declareLinear(where, names.output, queries, config.width, config);
    if (config.layerScale)
        m_scale1 = where.other(names.scale1, {config.width}, {1, 0});
    m_norm2 =
        NormLayer::declare(where.below(names.norm2), config.width, config.epsilon, config.rms);
    if (config.gated)
        m_fc1 = declareJoined(where, "mlp.gate_and_up",
                              {{names.gate, config.hidden}, {names.fc1, config.hidden}},
                              config.width, config);
    else
        m_fc1 = declareLinear(where, names.fc1, config.width, config.hidden, config);
    m_fc2 = declareLinear(where, names.fc2, config.hidden, config.width, config);
    if (config.layerScale)
        m_scale2 = where.other(names.scale2, {config.width}, {1, 0});
}

TransformerBlock::Attend TransformerBlock::attention(const AttentionArgs& args,
                                                     const std::optional<RopeArgs>& rotary) const
{
    const auto copyOf = [](const Tensor* tensor) {
        return tensor ? std::make_shared<Tensor>(*tensor) : nullptr;
    };
    return [heads = m_config.heads, keyHeads = m_config.keyHeadCount(), args, rotary,
            counts = copyOf(args.keyCounts), starts = copyOf(args.segmentStarts),
            bias = copyOf(args.bias),
            positions = copyOf(rotary ? rotary->positions : nullptr)](Graph& graph, Value qkv) {
        AttentionArgs own = args;
        own.keyCounts = counts.get();
        own.segmentStarts = starts.get();
        own.bias = bias.get();
        std::optional<RopeArgs> turn = rotary;
        if (turn)
            turn->positions = positions.get();
        return attentionPacked(graph, qkv, heads, keyHeads, own, turn);
    };
}

Value TransformerBlock::operator()(const ForwardPass& pass, Value x, int index,
                                   const Attend& attend) const
{
    if (!pass.recomputes)
        return run(pass, x, index, attend);
    return pass.graph.checkpoint(
        {x}, [this, pass, index, attend](Graph&, const std::vector<Value>& inputs) {
            return run(pass, inputs.front(), index, attend);
        });
}

Value TransformerBlock::run(const ForwardPass& pass, Value x, int index, const Attend& attend) const
{
    const Value qkv = pass.at(m_qkv(pass, m_norm1(pass, x)), index, Site::Qkv);
    const Value y = project(pass, attend(pass.graph, qkv), x, index);
    return pass.at(feedForward(pass, y, index), index, Site::BlockOutput);
}

Value TransformerBlock::addBranch(const ForwardPass& pass, const LinearLayer& last, int scale,
                                  Value x, Value residual, int index, Site site) const
{
    if (scale < 0 && !pass.hook)
        return last(pass, x, Activation::None, residual);
    const Value branch = pass.at(last(pass, x), index, site);
    if (scale < 0)
        return add(pass.graph, branch, residual);
    return layerScale(pass.graph, branch, pass[scale], residual);
}

Value TransformerBlock::project(const ForwardPass& pass, Value context, Value residual,
                                int index) const
{
    return addBranch(pass, m_output, m_scale1, context, residual, index, Site::AttentionOutput);
}

Value TransformerBlock::feedForward(const ForwardPass& pass, Value x, int index) const
{
    const Value normed = m_norm2(pass, x);
    Value inner;
    if (m_config.gated || pass.hook) {
        inner = pass.at(m_fc1(pass, normed), index, Site::Fc1);
        inner = m_config.gated ? swiglu(pass.graph, inner)
                               : activate(pass.graph, m_config.activation, inner);
        inner = pass.at(inner, index, Site::AfterActivation);
    } else {
        inner = m_fc1(pass, normed, m_config.activation);
    }
    return addBranch(pass, m_fc2, m_scale2, inner, x, index, Site::Fc2);
}

std::vector<TransformerBlock> declareBlocks(const Declaration& where, const std::string& name,
                                            int count, const BlockConfig& config,
                                            const BlockNames& names)
{
    std::vector<TransformerBlock> blocks;
    for (int i = 0; i < count; ++i)
        blocks.emplace_back(where.below(fmt::format("{}.{}", name, i)), config, names);
    return blocks;
}

} // namespace vergence
