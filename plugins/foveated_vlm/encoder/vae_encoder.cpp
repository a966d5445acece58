#include "plugins/foveated_vlm/encoder/vae_encoder.h"

#include <cmath>

#include <fmt/format.h>

namespace vergence::fvlm {

VaeNames vaeNames()
{
    VaeNames names;
    names.prefixes = {"_orig_mod.", "module.", "vae.", "first_stage_model."};
    names.unwanted = {"decoder.", "post_quant_conv.", "loss.", "model_ema."};
    names.replacements = {
        {"encoder.down.", "encoder.down_blocks."},
        {".downsample.", ".downsamplers.0."},
        {".block.", ".resnets."},
        {".nin_shortcut.", ".conv_shortcut."},
        {"encoder.mid.block_1.", "encoder.mid_block.resnets.0."},
        {"encoder.mid.block_2.", "encoder.mid_block.resnets.1."},
        {"encoder.mid.attn_1.norm.", "encoder.mid_block.attentions.0.group_norm."},
        {"encoder.mid.attn_1.q.", "encoder.mid_block.attentions.0.to_q."},
        {"encoder.mid.attn_1.k.", "encoder.mid_block.attentions.0.to_k."},
        {"encoder.mid.attn_1.v.", "encoder.mid_block.attentions.0.to_v."},
        {"encoder.mid.attn_1.proj_out.", "encoder.mid_block.attentions.0.to_out.0."},
        {"encoder.norm_out.", "encoder.conv_norm_out."},
        {".attentions.0.query.", ".attentions.0.to_q."},
        {".attentions.0.key.", ".attentions.0.to_k."},
        {".attentions.0.value.", ".attentions.0.to_v."},
        {".attentions.0.proj_attn.", ".attentions.0.to_out.0."},
    };
    return names;
}

namespace {
/// A convolution with bias, kernel [out, in, side, side].
LinearLayer declareKernel(const Declaration& where, Index in, Index out, Index side)
{
    const InitialValue even{0, 1 / std::sqrt(static_cast<double>(in * side * side)), true};
    LinearLayer layer;
    layer.weight = where.matrix("weight", {out, in, side, side}, even);
    layer.bias = where.other("bias", {out}, even);
    return layer;
}

/// x [B, h, w, in]; a kernel of 3 × 3 pads by one on every side unless it strides.
Value convolve(const ForwardPass& pass, const LinearLayer& layer, Value x, int stride = 1,
               Value residual = {})
{
    ConvOptions how;
    how.bias = pass[layer.bias];
    how.residual = residual;
    how.stride = stride;
    how.padding = stride == 1 ? 1 : 0;
    return conv2d(pass.graph, x, permute(pass.graph, pass[layer.weight], {0, 2, 3, 1}), how);
}

/// One more row below and column to the right, of zeros.
Value padEnd(Graph& graph, Value x)
{
    const auto zeros = [&](Shape shape, int dimension) {
        shape[static_cast<std::size_t>(dimension)] = 1;
        const Tensor none = graph.take(shape, graph.tensor(x).dtype());
        graph.stream().fillBytes(none.data(), 0, none.bytes());
        return graph.constant(none);
    };
    const Value wide = concat(graph, {x, zeros(graph.shape(x), 2)}, 2);
    return concat(graph, {wide, zeros(graph.shape(wide), 1)}, 1);
}

/// A part whose temporaries are not kept: images are large.
template <class Part>
Value alone(const ForwardPass& pass, Value x, const Part& part)
{
    return pass.graph.checkpoint(
        {x}, [part](Graph&, const std::vector<Value>& inputs) { return part(inputs.front()); });
}
} // namespace

VaeEncoder::VaeEncoder(const Declaration& where, const VaeConfig& config) : m_config(config)
{
    expects(!config.widths.empty() && config.blocksPerLevel > 0 && config.latentChannels > 0,
            "VaeEncoder: no levels, blocks or channels");
    for (const Index width : config.widths)
        expects(config.groups > 0 && width % config.groups == 0,
                fmt::format("VaeEncoder: {} channels in {} groups", width, config.groups));
    const Declaration encoder = where.below("encoder");
    m_first = declareKernel(encoder.below("conv_in"), 3, config.widths.front(), 3);
    Index width = config.widths.front();
    for (std::size_t i = 0; i < config.widths.size(); ++i) {
        const Declaration level = encoder.below(fmt::format("down_blocks.{}", i));
        m_levels.emplace_back();
        for (int j = 0; j < config.blocksPerLevel; ++j) {
            m_levels.back().blocks.push_back(declareResidual(
                level.below(fmt::format("resnets.{}", j)), width, config.widths[i]));
            width = config.widths[i];
        }
        if (i + 1 < config.widths.size())
            m_levels.back().down =
                declareKernel(level.below("downsamplers.0.conv"), width, width, 3);
    }
    const Declaration middle = encoder.below("mid_block");
    m_middle[0] = declareResidual(middle.below("resnets.0"), width, width);
    m_attention = declareAttention(middle.below("attentions.0"), width);
    m_middle[1] = declareResidual(middle.below("resnets.1"), width, width);
    m_lastNorm = NormLayer::declare(encoder.below("conv_norm_out"), width, config.epsilon, false);
    m_last = declareKernel(encoder.below("conv_out"), width, 2 * config.latentChannels, 3);
    m_quantise = declareKernel(where.below("quant_conv"), 2 * config.latentChannels,
                               2 * config.latentChannels, 1);
}

VaeEncoder::Residual VaeEncoder::declareResidual(const Declaration& where, Index in,
                                                 Index out) const
{
    Residual block;
    block.norm1 = NormLayer::declare(where.below("norm1"), in, m_config.epsilon, false);
    block.conv1 = declareKernel(where.below("conv1"), in, out, 3);
    block.norm2 = NormLayer::declare(where.below("norm2"), out, m_config.epsilon, false);
    block.conv2 = declareKernel(where.below("conv2"), out, out, 3);
    if (in != out)
        block.shortcut = declareKernel(where.below("conv_shortcut"), in, out, 1);
    return block;
}

VaeEncoder::Attention VaeEncoder::declareAttention(const Declaration& where, Index width) const
{
    Attention layers;
    layers.norm = NormLayer::declare(where.below("group_norm"), width, m_config.epsilon, false);
    layers.query = LinearLayer::declareUniform(where.below("to_q"), width, width);
    layers.key = LinearLayer::declareUniform(where.below("to_k"), width, width);
    layers.value = LinearLayer::declareUniform(where.below("to_v"), width, width);
    layers.out = LinearLayer::declareUniform(where.below("to_out.0"), width, width);
    return layers;
}

Value VaeEncoder::normed(const ForwardPass& pass, const NormLayer& norm, Value x, bool silu) const
{
    return groupNorm(pass.graph, x, pass[norm.weight], pass[norm.bias], m_config.groups,
                     norm.epsilon, silu);
}

Value VaeEncoder::residual(const ForwardPass& pass, const Residual& block, Value x) const
{
    return alone(pass, x, [this, pass, block](Value in) {
        const Value first = convolve(pass, block.conv1, normed(pass, block.norm1, in, true));
        const Value same = block.shortcut.weight >= 0 ? block.shortcut(pass, in) : in;
        return convolve(pass, block.conv2, normed(pass, block.norm2, first, true), 1, same);
    });
}

/// One head over all places.
Value VaeEncoder::attend(const ForwardPass& pass, Value x) const
{
    Graph& graph = pass.graph;
    const Shape shape = graph.shape(x);
    const Shape rows{shape[0], shape[1] * shape[2], shape[3]};
    const Value places = reshape(graph, normed(pass, m_attention.norm, x, false), rows);
    const Value logits =
        matmul(graph, m_attention.query(pass, places), m_attention.key(pass, places), false, true,
               1 / std::sqrt(static_cast<double>(shape[3])));
    const Value mixed = matmul(graph, softmax(graph, logits), m_attention.value(pass, places));
    return reshape(graph, m_attention.out(pass, mixed, Activation::None, reshape(graph, x, rows)),
                   shape);
}

Value VaeEncoder::latents(const ForwardPass& pass, Value pixels) const
{
    Graph& graph = pass.graph;
    const Shape& image = graph.shape(pixels);
    expects(image.size() == 4 && image[1] == 3 && image[2] > 0 && image[3] > 0 &&
                image[2] % reduction() == 0 && image[3] % reduction() == 0,
            fmt::format("VaeEncoder: {} is not [B, 3, h, w] with sides of a multiple of {}",
                        toString(image), reduction()));
    const Value typed = cast(graph, pixels, pass.parameters.computeType());
    Value x = convolve(pass, m_first, permute(graph, typed, {0, 2, 3, 1}));
    for (const Level& level : m_levels) {
        for (const Residual& block : level.blocks)
            x = residual(pass, block, x);
        if (level.down.weight >= 0)
            x = alone(pass, x, [pass, down = level.down](Value in) {
                return convolve(pass, down, padEnd(pass.graph, in), 2);
            });
    }
    x = residual(pass, m_middle[0], x);
    x = alone(pass, x, [this, pass](Value in) { return attend(pass, in); });
    x = residual(pass, m_middle[1], x);
    x = m_quantise(pass, convolve(pass, m_last, normed(pass, m_lastNorm, x, true)));
    const Value mean = narrow(graph, x, 3, 0, m_config.latentChannels);
    return scale(graph, m_config.scaling, permute(graph, mean, {0, 3, 1, 2}));
}

} // namespace vergence::fvlm
