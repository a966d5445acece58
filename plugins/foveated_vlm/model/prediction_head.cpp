#include "plugins/foveated_vlm/model/prediction_head.h"

#include <fmt/format.h>

#include "plugins/foveated_vlm/model/model_settings.h"

namespace vergence::fvlm {

namespace {
constexpr int kHeads = 4; ///< of CrossAttention
} // namespace

PredictionHead::PredictionHead(const UniformDeclaration& where, const HeadSettings& settings,
                               Index stateWidth)
    : m_kind(settings.kind),
      m_height(settings.height),
      m_width(settings.width),
      m_channels(settings.widths)
{
    expects(m_channels.size() >= 2, "PredictionHead: needs the channels of latents and features");
    if (m_kind == HeadKind::Film)
        declareFilm(where, settings, stateWidth);
    else if (m_kind == HeadKind::Mlp)
        declareMlp(where, settings, stateWidth);
    else
        declareAttention(where, stateWidth);
}

void PredictionHead::declareDecoder(const UniformDeclaration& where)
{
    for (std::size_t i = m_channels.size() - 1; i > 0; --i)
        m_decoder.push_back(
            where.convolution(fmt::format("decoder.{}", 2 * (m_channels.size() - 1 - i)),
                              m_channels[i], m_channels[i - 1]));
}

void PredictionHead::declareFilm(const UniformDeclaration& where, const HeadSettings& settings,
                                 Index stateWidth)
{
    m_layers.push_back(where.linear("h_to_film.0", stateWidth, settings.hidden));
    m_layers.push_back(where.linear("h_to_film.2", settings.hidden, 2 * m_channels.back()));
    for (std::size_t i = 0; i + 1 < m_channels.size(); ++i)
        m_encoder.push_back(
            where.convolution(fmt::format("encoder.{}", 2 * i), m_channels[i], m_channels[i + 1]));
    declareDecoder(where);
}

void PredictionHead::declareMlp(const UniformDeclaration& where, const HeadSettings& settings,
                                Index stateWidth)
{
    const Index latent = m_channels.front() * m_height * m_width, hidden = 4 * settings.hidden;
    m_layers.push_back(where.linear("mlp.0", stateWidth + latent, hidden));
    m_norms.push_back(NormLayer::declare(where.below("mlp.2").plain(), hidden, 1e-5, false));
    m_layers.push_back(where.linear("mlp.3", hidden, hidden));
    m_norms.push_back(NormLayer::declare(where.below("mlp.5").plain(), hidden, 1e-5, false));
    m_layers.push_back(where.linear("mlp.6", hidden, latent));
}

void PredictionHead::declareAttention(const UniformDeclaration& where, Index stateWidth)
{
    const Index width = m_channels.back(), first = m_channels[1];
    expects(width % kHeads == 0, "PredictionHead: the features do not divide into 4 heads");
    m_encoder.push_back(where.convolution("latent_encoder.0", m_channels[0], first));
    m_encoder.push_back(where.convolution("latent_encoder.2", first, width));
    m_positions = where.plain().table("pos_embed", {1, m_height * m_width, width});
    m_layers.push_back(where.linear("h_to_query_context", stateWidth, width));
    m_layers.push_back(where.linear("query_mlp.0", 2 * width, width));
    m_layers.push_back(where.linear("query_mlp.2", width, width));
    m_layers.push_back(where.linear("key_proj", width, width));
    m_layers.push_back(where.linear("value_proj", width, width));
    m_layers.push_back(where.linear("out_proj", width, width));
    declareDecoder(where);
}

/// Kernels lie [out, in, 3, 3], as in model files; the products want channels innermost.
Value PredictionHead::convolve(const ForwardPass& pass, const LinearLayer& layer, Value x,
                               Activation activation) const
{
    ConvOptions options;
    options.bias = pass[layer.bias];
    options.activation = activation;
    options.padding = 1;
    return conv2d(pass.graph, x, permute(pass.graph, pass[layer.weight], {0, 2, 3, 1}), options);
}

Value PredictionHead::chain(const ForwardPass& pass, const std::vector<LinearLayer>& layers,
                            Value x) const
{
    for (std::size_t i = 0; i < layers.size(); ++i)
        x = convolve(pass, layers[i], x,
                     i + 1 < layers.size() ? Activation::GeluErf : Activation::None);
    return x;
}

Value PredictionHead::encode(const ForwardPass& pass, Value latents) const
{
    return m_kind == HeadKind::Mlp ? latents : chain(pass, m_encoder, latents);
}

Value PredictionHead::predict(const ForwardPass& pass, Value states, Value features) const
{
    if (m_kind == HeadKind::Film)
        return predictFilm(pass, states, features);
    if (m_kind == HeadKind::Mlp)
        return predictMlp(pass, states, features);
    return predictAttention(pass, states, features);
}

Value PredictionHead::predictFilm(const ForwardPass& pass, Value states, Value features) const
{
    const Value both = m_layers[1](pass, m_layers[0](pass, states, Activation::GeluErf));
    const Index width = m_channels.back();
    const Value gamma = narrow(pass.graph, both, 1, 0, width);
    const Value beta = narrow(pass.graph, both, 1, width, width);
    return chain(pass, m_decoder, film(pass.graph, features, gamma, beta));
}

/// Latents in the order of model files: channel, row, column.
Value PredictionHead::predictMlp(const ForwardPass& pass, Value states, Value latents) const
{
    Graph& graph = pass.graph;
    const Index n = graph.shape(latents)[0], channels = m_channels.front();
    const Value flat =
        reshape(graph, permute(graph, latents, {0, 3, 1, 2}), {n, channels * m_height * m_width});
    Value x = concat(graph, {states, flat}, 1);
    for (std::size_t i = 0; i < m_norms.size(); ++i)
        x = m_norms[i](pass, m_layers[i](pass, x, Activation::GeluErf));
    x = reshape(graph, m_layers.back()(pass, x), {n, channels, m_height, m_width});
    return permute(graph, x, {0, 2, 3, 1});
}

Value PredictionHead::predictAttention(const ForwardPass& pass, Value states, Value features) const
{
    Graph& graph = pass.graph;
    const Index n = graph.shape(states)[0], places = m_height * m_width, width = m_channels.back();
    const Value positions = reshape(graph, pass[m_positions], {places, width});
    const Value seen = addBroadcast(graph, reshape(graph, features, {n, places, width}), positions);
    const Value context =
        permute(graph, broadcastLeading(graph, m_layers[0](pass, states), places), {1, 0, 2});
    const Value asked = concat(graph, {context, broadcastLeading(graph, positions, n)}, 2);
    const auto heads = [&](Value x) {
        return reshape(graph, x, {n, places, kHeads, width / kHeads});
    };
    const Value queries = m_layers[2](pass, m_layers[1](pass, asked, Activation::GeluErf));
    const Value answer = attention(graph, heads(queries), heads(m_layers[3](pass, seen)),
                                   heads(m_layers[4](pass, seen)));
    const Value out = m_layers[5](pass, reshape(graph, answer, {n, places, width}));
    return chain(pass, m_decoder, reshape(graph, out, {n, m_height, m_width, width}));
}

} // namespace vergence::fvlm
