#include "plugins/mc_embedding/models/text_tower.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/compute/nn/siglip.h"
#include "plugins/mc_embedding/compute/mask_kernels.h"
#include "plugins/mc_embedding/compute/row_kernels.h"
#include "plugins/mc_embedding/compute/sites.h"
#include "plugins/mc_embedding/models/demo_values.h"

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

/// The masks of one batch of texts, as the hook of a forward pass.
class MaskHook {
public:
    MaskHook(Stream& stream, const std::shared_ptr<Device>& device, const TextMasks& masks,
             std::span<const SequenceKey> keys)
        : m_device(device),
          m_seed(masks.seed),
          m_rate(dropRate(masks.p)),
          m_count(static_cast<Index>(keys.size())),
          m_keys(Tensor::empty(device, {m_count, Index{sizeof(SequenceKey)}}, DType::U8))
    {
        stream.copy(m_keys.data(), keys.data(), m_keys.bytes());
    }

    Value operator()(Graph& graph, Value x, int block, vergence::Site site) const
    {
        switch (site) {
        case vergence::Site::Qkv:
            return masked(graph, x, block, SiteCode::Query, 3);
        case vergence::Site::AttentionOutput:
            return masked(graph, x, block, SiteCode::Output, 1);
        case vergence::Site::Fc1:
            return masked(graph, x, block, SiteCode::Fc1, 1);
        case vergence::Site::Fc2:
            return masked(graph, x, block, SiteCode::Fc2, 1);
        default:
            return x;
        }
    }

private:
    /// x [texts, tokens, segments · C]; the sites of the segments follow each other.
    Value masked(Graph& graph, Value x, int block, SiteCode first, int segments) const
    {
        const Tensor& values = graph.dense(x);
        const Index columns = values.shape().back() / segments,
                    tokens = values.size() / values.shape().back() / m_count;
        expects(block >= 0 && columns % kMaskBlock == 0 && values.dtype() == DType::F32,
                "TextTower: masks want blocks whose extents are multiples of 16, in F32");
        const Index bitsEach = m_count * tokens * columns / kMaskBlock;
        const Tensor bits = Tensor::empty(m_device, {segments * bitsEach}, DType::U16);
        MaskArguments draw;
        draw.seed = m_seed;
        draw.keys = static_cast<const SequenceKey*>(m_keys.data());
        draw.sequences = m_count;
        draw.bits = static_cast<std::uint16_t*>(bits.data());
        MaskRowsArguments rows;
        rows.rows = m_count * tokens;
        rows.tokens = tokens;
        rows.columns = columns;
        rows.segments = segments;
        rows.x = {values.data(), tokens, 0, 0};
        for (int i = 0; i < segments; ++i) {
            draw.add(siteNumber(block, first) + i, tokens * columns, i * bitsEach, m_rate);
            rows.mask[i] = {draw.bits + i * bitsEach, m_rate.scale};
        }
        const Tensor result = Tensor::empty(m_device, values.shape());
        rows.y = result.data();
        maskBits(graph.stream(), draw);
        maskRows(graph.stream(), rows);
        return graph.constant(result);
    }

    std::shared_ptr<Device> m_device;
    std::uint64_t m_seed;
    DropRate m_rate;
    Index m_count;
    Tensor m_keys;
};

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

    std::vector<float>
    run(Graph& graph, std::span<const std::vector<int>> contexts,
        const std::function<Value(Graph&, Value, int, vergence::Site)>& hook) const
    {
        const std::size_t length = lengthOf(contexts, shape.family);
        std::vector<std::int32_t> ids;
        for (const std::vector<int>& text : contexts) {
            const auto count = std::min(length, text.size());
            ids.insert(ids.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(count));
            ids.resize(ids.size() + length - count, 0);
        }
        graph.reset();
        const ForwardPass pass{graph, parameters, nullptr, false, hook};
        const auto texts = static_cast<Index>(contexts.size());
        const Value y = siglip ? (*siglip)(pass, ids, texts) : (*clip)(pass, ids, texts);
        return graph.dense(y).toHost<float>(graph.stream());
    }

    template <class Run>
    void forBatches(std::span<const std::vector<int>> texts, const Run& run) const;
};

TextTower::TextTower(Stream& stream, std::shared_ptr<Device> device, const WeightFile& file,
                     const TextSource& source, const std::function<bool()>& isStopped)
    : m_impl(std::make_unique<Impl>(std::move(device), source.shape))
{
    m_impl->parameters.allocate(stream);
    loadWeights(stream, m_impl->parameters, file, textNames(source), {}, isStopped);
}

TextTower::TextTower(Stream& stream, std::shared_ptr<Device> device, const TextShape& shape,
                     std::uint64_t seed)
    : m_impl(std::make_unique<Impl>(std::move(device), shape))
{
    m_impl->parameters.allocate(stream);
    setDemoValues(stream, m_impl->parameters, seed, kTextDemoOwner);
}

TextTower::~TextTower() = default;

/// run(texts, first) for one batch after the other; false where it has to end.
template <class Run>
void TextTower::Impl::forBatches(std::span<const std::vector<int>> texts, const Run& run) const
{
    const std::size_t batch =
        std::max<std::size_t>(1, kTokensAtOnce / static_cast<std::size_t>(shape.context));
    for (std::size_t first = 0; first < texts.size(); first += batch) {
        if (!run(texts.subspan(first, std::min(batch, texts.size() - first)), first))
            return;
    }
}

Matrix TextTower::features(Stream& stream, const std::vector<std::vector<int>>& contexts,
                           const std::function<bool()>& isStopped) const
{
    const auto feature = static_cast<std::size_t>(m_impl->shape.feature);
    Matrix all(contexts.size(), feature);
    Graph graph(stream, m_impl->device, {false, DType::F32});
    m_impl->forBatches(contexts, [&](auto part, std::size_t first) {
        const std::vector<float> values = m_impl->run(graph, part, {});
        std::copy(values.begin(), values.end(),
                  all.values.begin() + static_cast<std::ptrdiff_t>(first * feature));
        return !isStopped || !isStopped();
    });
    return all;
}

Matrix TextTower::features(Stream& stream, const std::vector<std::vector<int>>& contexts,
                           const TextMasks& masks) const
{
    expects(masks.keys.size() == contexts.size(), "TextTower: one key of masks per text");
    const auto feature = static_cast<std::size_t>(m_impl->shape.feature);
    Matrix all(contexts.size(), feature);
    Graph graph(stream, m_impl->device, {false, DType::F32});
    m_impl->forBatches(contexts, [&](auto part, std::size_t first) {
        const MaskHook hook(stream, m_impl->device, masks,
                            std::span(masks.keys).subspan(first, part.size()));
        const std::vector<float> values = m_impl->run(graph, part, hook);
        std::copy(values.begin(), values.end(),
                  all.values.begin() + static_cast<std::ptrdiff_t>(first * feature));
        return true;
    });
    return all;
}

} // namespace vergence::mc_embedding
