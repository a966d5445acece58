#include "plugins/mc_embedding/models/text_tower.h"

#include <algorithm>
#include <optional>

#include "core/compute/nn/siglip.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::size_t kTokensAtOnce = 4096;

TowerConfig configOf(const TextShape& shape)
{
    return {shape.width, shape.layers, shape.heads, shape.hidden, shape.activation, shape.epsilon};
}

/// Ids up to the longest text of a batch. CLIP pools the first largest id and sees nothing after
/// it, so what follows is left out; SigLIP's last position is the result and nothing is.
std::size_t lengthOf(std::span<const std::vector<int>> contexts, Family family)
{
    std::size_t longest = 1;
    for (const std::vector<int>& ids : contexts) {
        const auto end = std::max_element(ids.begin(), ids.end()) - ids.begin();
        longest = std::max(longest, family == Family::Siglip ? ids.size()
                                                             : static_cast<std::size_t>(end) + 1);
    }
    return longest;
}

} // namespace

struct TextTower::Impl {
    TextShape shape;
    std::shared_ptr<Device> device;
    ParameterSet parameters;
    std::optional<ClipTextTower> clip;
    std::optional<SiglipTextTower> siglip;

    Impl(std::shared_ptr<Device> on, const TextShape& extents)
        : shape(extents),
          device(std::move(on)),
          parameters(device)
    {
        const int frozen = parameters.addGroup({"text", 0, true});
        const Declaration where(parameters, {frozen, frozen, frozen});
        if (shape.family == Family::Siglip)
            siglip.emplace(where, configOf(shape), shape.vocabulary, shape.context, shape.feature);
        else
            clip.emplace(where, configOf(shape), shape.vocabulary, shape.context, shape.feature);
    }

    std::vector<float> run(Graph& graph, std::span<const std::vector<int>> contexts) const
    {
        const std::size_t length = lengthOf(contexts, shape.family);
        std::vector<std::int32_t> ids;
        for (const std::vector<int>& text : contexts) {
            const auto count = std::min(length, text.size());
            ids.insert(ids.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(count));
            ids.resize(ids.size() + length - count, 0);
        }
        graph.reset();
        const ForwardPass pass{graph, parameters, nullptr, false, {}};
        const auto texts = static_cast<Index>(contexts.size());
        const Value y = siglip ? (*siglip)(pass, ids, texts) : (*clip)(pass, ids, texts);
        return graph.dense(y).toHost<float>(graph.stream());
    }
};

TextTower::TextTower(Stream& stream, std::shared_ptr<Device> device, const WeightFile& file,
                     const TextSource& source)
    : m_impl(std::make_unique<Impl>(std::move(device), source.shape))
{
    m_impl->parameters.allocate(stream);
    loadWeights(stream, m_impl->parameters, file, textNames(source));
}

TextTower::~TextTower() = default;

Matrix TextTower::features(Stream& stream, const std::vector<std::vector<int>>& contexts) const
{
    const auto feature = static_cast<std::size_t>(m_impl->shape.feature);
    Matrix all(contexts.size(), feature);
    Graph graph(stream, m_impl->device, {false, DType::F32});
    const std::span<const std::vector<int>> texts(contexts);
    const std::size_t batch =
        std::max<std::size_t>(1, kTokensAtOnce / static_cast<std::size_t>(m_impl->shape.context));
    for (std::size_t first = 0; first < texts.size(); first += batch) {
        const auto part = texts.subspan(first, std::min(batch, texts.size() - first));
        const std::vector<float> values = m_impl->run(graph, part);
        std::copy(values.begin(), values.end(),
                  all.values.begin() + static_cast<std::ptrdiff_t>(first * feature));
    }
    return all;
}

} // namespace vergence::mc_embedding
