#include "plugins/foveated_vlm/encoder/gaze_encoder.h"

#include <fmt/format.h>

#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/structure.h"

namespace vergence::fvlm {

namespace {
void expectSettings(const QuerySettings& query)
{
    expects(query.width > 0 && query.temperature > 0 && query.topK >= 0,
            fmt::format("GazeEncoder: queries of {} numbers, temperature {}, top {}", query.width,
                        query.temperature, query.topK));
}
} // namespace

GazeEncoder::GazeEncoder(const Declaration& vit, const Declaration& connector,
                         const DinoConfig& config, const QuerySettings& query,
                         const Savings& savings)
    : m_tower(vit, config),
      m_query(query),
      m_savings(savings)
{
    expectSettings(query);
    m_input = LinearLayer::declareUniform(connector.below("query_input_proj"), query.width,
                                          config.width, query.bias);
    m_output =
        LinearLayer::declareUniform(connector.below("output_proj"), config.width, config.width);
}

void GazeEncoder::prepare(Stream& stream, const ParameterSet& parameters, Index rows, Index columns)
{
    expects(rows > 0 && columns > 0,
            fmt::format("GazeEncoder: a grid of {} by {} patches", rows, columns));
    m_tower.prepare(stream, parameters, rows, columns);
    m_rows = rows;
    m_columns = columns;
}

std::array<Index, 3> GazeEncoder::readoutShape() const
{
    const Index blocks = m_query.mode == QueryMode::Deep ? config().layers : 1;
    const Index heads = m_query.mode == QueryMode::ShallowAverage ? 1 : config().heads;
    const bool drops = m_query.mode == QueryMode::ShallowAverage && m_query.dropsClassToken;
    return {blocks, heads, tokens() - (drops ? 1 : 0)};
}

/// Whether a query may be a token of the patches' own pass: it then looks as patches do, and the
/// tape of the pass is kept for its sake.
bool GazeEncoder::canRide(const ForwardPass& pass, bool wantsWeights) const
{
    const bool isPlain = m_query.mode == QueryMode::Deep && m_query.temperature == 1 &&
                         (m_query.topK == 0 || m_query.topK >= tokens());
    const bool isLearning = !pass.parameters[m_tower.blocks()[0].qkv().weight].gradient.isEmpty();
    return m_savings.ridingQuery && isPlain && !wantsWeights &&
           (isLearning || !pass.graph.options().recordsGradients);
}

Encoded GazeEncoder::encode(const ForwardPass& pass, Value patches, Value ridingQuery,
                            AttentionReadout* readout) const
{
    expects(m_rows > 0, "GazeEncoder: prepare() was not called");
    Graph& graph = pass.graph;
    const bool isDeep = m_query.mode == QueryMode::Deep;
    const bool rides = ridingQuery && canRide(pass, readout);
    const Value u = ridingQuery ? m_input(pass, ridingQuery) : Value{};
    Value x = m_tower.embedPatchRows(pass, patches, m_rows, m_columns, rides ? u : Value{});
    Encoded encoded;
    encoded.frames = graph.shape(x)[0];
    encoded.tokens = tokens();
    foldScales(pass, encoded);
    const std::size_t all = m_tower.blocks().size();
    const std::size_t whole = isDeep && m_savings.deadTail ? all - 1 : all;
    for (std::size_t block = 0; block < whole; ++block)
        x = encodeBlock(pass, encoded, x, block);
    if (!isDeep)
        keepFeatures(pass, encoded, x);
    else if (whole < all)
        keepTail(pass, encoded, x);
    else if (encoded.waiting.back())
        encoded.waiting.back()->wake(x, true); // nothing else needs the last block's patches
    const Shape each{encoded.frames, config().width};
    if (rides)
        encoded.coarse =
            lookThrough(pass, encoded, reshape(graph, narrow(graph, x, 1, encoded.tokens, 1), each),
                        whole, nullptr, nullptr);
    else if (ridingQuery)
        encoded.coarse =
            lookFrom(pass, encoded, reshape(graph, broadcastLeading(graph, u, each[0]), each),
                     nullptr, readout);
    return encoded;
}

void GazeEncoder::foldScales(const ForwardPass& pass, Encoded& encoded) const
{
    const ParameterSet& parameters = pass.parameters;
    if (!m_savings.foldedScale || parameters.masterType() != sumType(parameters.computeType()))
        return;
    for (const TransformerBlock& block : m_tower.blocks())
        encoded.folded.push_back({FoldedLinear(pass, block.output(), block.scale1()),
                                  FoldedLinear(pass, block.fc2(), block.scale2())});
}

KeyWindow GazeEncoder::window(Value source, Index firstKey, Index firstValue) const
{
    KeyWindow keys;
    keys.source = source;
    keys.firstKey = firstKey;
    keys.firstValue = firstValue;
    keys.seen = tokens();
    keys.heads = config().heads;
    keys.headSize = config().width / config().heads;
    return keys;
}

/// For keys that no patch asks.
void GazeEncoder::keep(const ForwardPass& pass, Encoded& encoded, const KeyWindow& keys) const
{
    encoded.keys.push_back(keys);
    encoded.waiting.push_back(m_savings.mergedBackward ? std::make_shared<WaitingLooks>()
                                                       : nullptr);
    if (m_savings.mergedBackward)
        receiveLooks(pass.graph, keys, encoded.waiting.back());
}

/// What follows the attention in a block.
Value GazeEncoder::mix(const ForwardPass& pass, const Encoded& encoded, Value context,
                       Value residual, std::size_t block) const
{
    const TransformerBlock& layers = m_tower.blocks()[block];
    const int index = static_cast<int>(block);
    if (encoded.folded.empty())
        return layers.feedForward(pass, layers.project(pass, context, residual, index), index);
    const auto& [project, contract] = encoded.folded[block];
    const Value y = project(pass.graph, context, residual);
    const Value inner = layers.fc1()(pass, layers.norm2()(pass, y), layers.config().activation);
    return contract(pass.graph, inner, y);
}

Value GazeEncoder::encodeBlock(const ForwardPass& pass, Encoded& encoded, Value x,
                               std::size_t block) const
{
    const TransformerBlock& layers = m_tower.blocks()[block];
    const Index width = config().width;
    const KeyWindow keys = window(layers.qkv()(pass, layers.norm1()(pass, x)), width, 2 * width);
    const bool isDeep = m_query.mode == QueryMode::Deep;
    const auto waiting =
        isDeep && m_savings.mergedBackward ? std::make_shared<WaitingLooks>() : nullptr;
    if (isDeep) {
        encoded.keys.push_back(keys);
        encoded.waiting.push_back(waiting);
    }
    const Graph& graph = pass.graph;
    const bool isFrozen = graph.options().recordsGradients && !graph.needsGradient(keys.source);
    if (!pass.recomputes && !isFrozen)
        return mix(pass, encoded, patchAttention(pass.graph, keys, waiting), x, block);
    Encoded layer; // what the segment keeps of it
    layer.folded = encoded.folded;
    return pass.graph.checkpoint(
        {x, keys.source},
        [this, pass, layer, keys, waiting, block](Graph& tape, const std::vector<Value>& inputs) {
            KeyWindow own = keys;
            own.source = inputs[1];
            return mix(pass, layer, patchAttention(tape, own, waiting), inputs[0], block);
        });
}

/// The last block's keys and values are all that looks need of it.
void GazeEncoder::keepTail(const ForwardPass& pass, Encoded& encoded, Value x) const
{
    const TransformerBlock& last = m_tower.blocks().back();
    const Index width = config().width;
    const Value kept = last.qkv().rows(pass, last.norm1()(pass, x), width, 2 * width);
    keep(pass, encoded, window(kept, 0, width));
}

void GazeEncoder::keepFeatures(const ForwardPass& pass, Encoded& encoded, Value x) const
{
    encoded.features = m_tower.norm()(pass, x);
    if (m_query.mode == QueryMode::ShallowLast) {
        keepTail(pass, encoded, encoded.features);
        return;
    }
    KeyWindow keys = window(encoded.features, 0, 0);
    keys.heads = 1;
    keys.headSize = config().width;
    keys.firstRow = m_query.dropsClassToken ? 1 : 0;
    keys.seen = encoded.tokens - keys.firstRow;
    keep(pass, encoded, keys);
}

Value GazeEncoder::look(const ForwardPass& pass, const Encoded& encoded, Value queries,
                        const Tensor* frames, AttentionReadout* readout) const
{
    return lookFrom(pass, encoded, m_input(pass, queries), frames, readout);
}

Value GazeEncoder::lookFrom(const ForwardPass& pass, const Encoded& encoded, Value u,
                            const Tensor* frames, AttentionReadout* readout) const
{
    if (readout)
        readout->entropy = {};
    if (readout && readout->wantsWeights) {
        const auto [blocks, heads, seen] = readoutShape();
        readout->weights =
            Tensor::empty(pass.graph.device(), {pass.graph.shape(u)[0], blocks, heads, seen},
                          sumType(pass.parameters.computeType()));
    }
    if (m_query.mode == QueryMode::Deep)
        return lookThrough(pass, encoded, u, 0, frames, readout);
    const Value seen = attend(pass, encoded, u, 0, frames, readout);
    return m_output(pass,
                    m_query.mode == QueryMode::ShallowLast ? m_tower.norm()(pass, seen) : seen);
}

/// A query's state before block `first` → z.
Value GazeEncoder::lookThrough(const ForwardPass& pass, const Encoded& encoded, Value u,
                               std::size_t first, const Tensor* frames,
                               AttentionReadout* readout) const
{
    for (std::size_t block = first; block < m_tower.blocks().size(); ++block) {
        const TransformerBlock& layers = m_tower.blocks()[block];
        const Value q = layers.qkv().rows(pass, layers.norm1()(pass, u), 0, config().width);
        u = mix(pass, encoded, attend(pass, encoded, q, block, frames, readout), u, block);
    }
    return m_output(pass, m_tower.norm()(pass, u));
}

/// Of one block: [M, heads], into the mean over all.
void GazeEncoder::addEntropy(Graph& graph, Value entropy, AttentionReadout& readout) const
{
    const auto [blocks, heads, seen] = readoutShape();
    const Index looks = graph.shape(entropy)[0];
    const Tensor mean = graph.take({1, heads}, graph.tensor(entropy).dtype());
    fill(graph.stream(), mean, 1 / static_cast<double>(blocks * heads));
    const Value share = reshape(graph, linear(graph, entropy, graph.constant(mean)), {looks});
    readout.entropy = readout.entropy ? add(graph, readout.entropy, share) : share;
}

Value GazeEncoder::attend(const ForwardPass& pass, const Encoded& encoded, Value q,
                          std::size_t block, const Tensor* frames, AttentionReadout* readout) const
{
    Tensor weights;
    Value entropy;
    const bool wantsEntropy = readout && readout->wantsEntropy;
    const bool wantsWeights = readout && readout->wantsWeights;
    const Value seen =
        lookAttention(pass.graph, q, encoded.keys.at(block), {m_query.temperature, m_query.topK},
                      frames, encoded.waiting.at(block), wantsWeights ? &weights : nullptr,
                      wantsEntropy ? &entropy : nullptr);
    if (wantsEntropy)
        addEntropy(pass.graph, entropy, *readout);
    if (wantsWeights) {
        const Shape one{weights.extent(0), 1, weights.extent(1), weights.extent(2)};
        copyStrided(pass.graph.stream(), weights.reshaped(one),
                    readout->weights.narrow(1, static_cast<Index>(block), 1));
    }
    return seen;
}

} // namespace vergence::fvlm
