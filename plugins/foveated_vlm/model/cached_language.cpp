#include "plugins/foveated_vlm/model/cached_language.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/compute/graph/gradient_help.h"
#include "core/compute/ops/structure.h"

namespace vergence::fvlm {

struct CachedLanguage::Step {
    Index added = 0, keys = 0;
    Tensor positions; ///< [sequences, S] I32, of RoPE
    Tensor places;    ///< [sequences · S] I32 row of the cache, −1: not kept
    Tensor bias;      ///< [sequences, 1, S, keys] 0 or far below every score
};

namespace {
constexpr double kUnseen = -1e30;

template <class T>
Tensor onDevice(Graph& graph, Shape shape, const std::vector<T>& values)
{
    const Tensor tensor = graph.take(std::move(shape), DTypeOf<T>::value);
    graph.stream().copy(tensor.data(), values.data(), tensor.bytes());
    return tensor;
}

Tensor realOnDevice(Graph& graph, const Shape& shape, const std::vector<double>& values, DType type)
{
    if (type == DType::F64)
        return onDevice(graph, shape, values);
    return onDevice(graph, shape, std::vector<float>(values.begin(), values.end()));
}
} // namespace

CachedLanguage::CachedLanguage(const ForwardPass& pass, const LlamaModel& model, Index sequences,
                               Index capacity)
    : m_model(model),
      m_sequences(sequences),
      m_capacity(capacity),
      m_lengths(static_cast<std::size_t>(sequences), 0)
{
    expects(!pass.graph.options().recordsGradients, "CachedLanguage: a cache takes no gradients");
    const BlockConfig& block = model.blocks().front().config();
    const Shape shape{sequences, capacity, block.keyHeadCount(), block.headWidth()};
    for (int i = 0; i < model.config().layers; ++i) {
        for (std::vector<Tensor>* all : {&m_keys, &m_values})
            all->push_back(Tensor::zeros(pass.graph.stream(), pass.graph.device(), shape,
                                         pass.parameters.computeType()));
    }
}

CachedLanguage::Step CachedLanguage::prepare(Graph& graph, Index added,
                                             std::span<const Index> counts) const
{
    Step step;
    step.added = added;
    for (std::size_t i = 0; i < counts.size(); ++i)
        step.keys = std::max(step.keys, m_lengths[i] + counts[i]);
    expects(step.keys <= m_capacity,
            fmt::format("CachedLanguage: {} positions do not fit a cache of {}", step.keys,
                        m_capacity));
    std::vector<std::int32_t> positions, places;
    std::vector<double> bias;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        for (Index s = 0; s < added; ++s) {
            const bool isRead = s < counts[i];
            const Index position = isRead ? m_lengths[i] + s : 0;
            positions.push_back(static_cast<std::int32_t>(position));
            places.push_back(
                isRead ? static_cast<std::int32_t>(static_cast<Index>(i) * m_capacity + position)
                       : -1);
            for (Index key = 0; key < step.keys; ++key)
                bias.push_back(key <= position ? 0 : kUnseen);
        }
    }
    step.positions = onDevice(graph, {m_sequences, added}, positions);
    step.places = onDevice(graph, {m_sequences * added}, places);
    step.bias = realOnDevice(graph, {m_sequences, 1, added, step.keys}, bias,
                             sumType(m_keys.front().dtype()));
    return step;
}

Value CachedLanguage::attend(Graph& graph, Value qkv, std::size_t layer, const Step& step) const
{
    const BlockConfig& block = m_model.blocks()[layer].config();
    const Index heads = block.heads, keyHeads = block.keyHeadCount(), size = block.headWidth();
    const Value split = reshape(graph, qkv, {m_sequences, step.added, heads + 2 * keyHeads, size});
    RopeArgs rotary;
    rotary.theta = m_model.config().theta;
    rotary.positions = &step.positions;
    const Value turned = rope(graph, narrow(graph, split, 2, 0, heads + keyHeads), rotary);
    const auto keep = [&](const Tensor& fresh, const Tensor& cache) {
        const Tensor dense = contiguous(graph.stream(), graph.arena(), fresh);
        // Every place is zero until it is written once.
        scatterAddRows(graph.stream(), dense.reshaped({m_sequences * step.added, keyHeads * size}),
                       step.places, cache.reshaped({m_sequences * m_capacity, keyHeads * size}));
    };
    keep(graph.tensor(turned).narrow(2, heads, keyHeads), m_keys[layer]);
    keep(graph.tensor(split).narrow(2, heads + keyHeads, keyHeads), m_values[layer]);
    AttentionArgs args;
    args.bias = &step.bias;
    const Value context = attention(graph, narrow(graph, turned, 2, 0, heads),
                                    graph.constant(m_keys[layer].narrow(1, 0, step.keys)),
                                    graph.constant(m_values[layer].narrow(1, 0, step.keys)), args);
    return reshape(graph, context, {m_sequences, step.added, heads * size});
}

Value CachedLanguage::extend(const ForwardPass& pass, Value x, std::span<const Index> counts)
{
    const Shape& shape = pass.graph.shape(x);
    expects(shape.size() == 3 && shape[0] == m_sequences &&
                static_cast<Index>(counts.size()) == m_sequences,
            "CachedLanguage: rows for each sequence and how many of them are read");
    const Index added = shape[1];
    expects(std::all_of(counts.begin(), counts.end(),
                        [&](Index count) { return count >= 0 && count <= added; }),
            "CachedLanguage: more rows are to be read than there are");
    const Step step = prepare(pass.graph, added, counts);
    for (std::size_t i = 0; i < m_keys.size(); ++i)
        x = m_model.blocks()[i](pass, x, static_cast<int>(i), [&](Graph& graph, Value qkv) {
            return attend(graph, qkv, i, step);
        });
    for (std::size_t i = 0; i < counts.size(); ++i)
        m_lengths[i] += counts[i];
    const Value states = m_model.norm()(pass, x);
    return reshape(pass.graph, states, {m_sequences * added, m_model.config().width});
}

} // namespace vergence::fvlm
