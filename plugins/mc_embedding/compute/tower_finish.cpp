// What TowerPass does between products: masks, norms, attention.

#include "plugins/mc_embedding/compute/tower_pass.h"

#include <algorithm>

#include "core/compute/ops/attention.h"
#include "plugins/mc_embedding/compute/masked_attention.h"

namespace vergence::mc_embedding {

namespace {

template <class T>
T* pointer(const Tensor& tensor)
{
    return static_cast<T*>(tensor.data());
}

} // namespace

void TowerPass::drawMasks(Stream& stream, const Flow& flow, int step,
                          std::initializer_list<int> sites)
{
    m_drawn.clear();
    if (!flow.isMasked() || m_plan->isNoise())
        return;
    MaskArguments args;
    args.seed = m_plan->perturbation().seed;
    args.keys = flow.tile.keys;
    args.sequences = flow.tile.count;
    args.bits = pointer<std::uint16_t>(m_bits);
    Index first = 0;
    for (const int number : sites) {
        const Site* site = m_plan->find(number);
        if (!site)
            continue;
        // Of a tail, the first token alone.
        const Index elements = std::min(site->tokens, rowsOf(step).tokens) * site->channels;
        args.add(number, elements, first, m_plan->rateOf(number));
        m_drawn.push_back(args.sites[args.siteCount - 1]);
        first += flow.tile.count * elements / kMaskBlock;
    }
    if (!m_drawn.empty())
        maskBits(stream, args);
}

RowMask TowerPass::maskOf(int site) const
{
    const auto found = std::ranges::find(m_drawn, site, &MaskSite::number);
    if (found == m_drawn.end())
        return {};
    return {pointer<const std::uint16_t>(m_bits) + found->first, found->rate.scale};
}

BranchCoin TowerPass::coinOf(const Flow& flow, int site) const
{
    if (!flow.isMasked() || !m_plan->find(site))
        return {};
    return {site, m_plan->rateOf(site), m_plan->perturbation().seed, flow.tile.keys};
}

bool TowerPass::isNoisy(const Flow& flow, std::initializer_list<int> sites) const
{
    return flow.isMasked() && m_plan->isNoise() &&
           std::ranges::any_of(sites, [&](int site) { return m_plan->find(site) != nullptr; });
}

void TowerPass::own(Stream& stream, const Flow& flow, RowSource& value, const NoisyRows& rows) const
{
    if (value.images == 0)
        return;
    MaskRowsArguments copy;
    copy.type = rows.type;
    copy.rows = flow.tile.count * rows.tokens;
    copy.tokens = rows.tokens;
    copy.columns = rows.rowStride;
    copy.x = value;
    copy.y = rows.data;
    maskRows(stream, copy);
    value = {rows.data, rows.tokens, 0, 0};
}

void TowerPass::addNoise(Stream& stream, const Flow& flow, const NoisyRows& rows,
                         std::initializer_list<int> sites) const
{
    const Perturbation& how = m_plan->perturbation();
    for (const int site : sites) {
        if (!m_plan->find(site))
            continue;
        NoiseRowsArguments args;
        args.type = rows.type;
        args.rows = flow.tile.count * rows.tokens;
        args.tokens = rows.tokens;
        args.columns = rows.columns;
        args.rowStride = rows.rowStride;
        args.x = rows.data;
        args.site = site;
        args.seed = how.seed;
        args.keys = flow.tile.keys;
        args.magnitude = how.magnitude;
        if (how.kind == Perturbation::Kind::Gaussian) {
            spreadRows(stream, {rows.type, flow.tile.count, rows.tokens, rows.columns,
                                rows.rowStride, rows.data, pointer<double>(m_spread)});
            args.spread = pointer<const double>(m_spread);
        }
        noiseRows(stream, args);
    }
}

void TowerPass::finishEmbed(Stream& stream, Flow& flow)
{
    const Index width = m_tower.width, patches = m_tower.patches();
    drawMasks(stream, flow, steps::kEmbed, {kPatchEmbedding, kPositionAdd});
    if (isNoisy(flow, {kPatchEmbedding})) {
        const NoisyRows rows{DType::F32, m_main.branch.data(), patches, width, width};
        own(stream, flow, flow.pending, rows);
        addNoise(stream, flow, rows, {kPatchEmbedding});
    }
    EmbedRowsArguments args;
    args.normedType = m_options.compute;
    args.sequences = flow.tile.count;
    args.tokens = m_tower.tokens();
    args.columns = width;
    args.patches = flow.pending;
    args.classToken = m_weights.classToken;
    args.positions = m_weights.positions;
    args.patchMask = maskOf(kPatchEmbedding);
    args.positionMask = maskOf(kPositionAdd);
    args.x = pointer<float>(m_main.x);
    const bool isSplit = isNoisy(flow, {kPositionAdd});
    if (!isSplit) {
        args.pre = m_weights.pre;
        args.norm = m_weights.blocks.front().norm1;
        args.normed = m_main.normed.data();
    }
    embedRows(stream, args);
    flow.residual = ownRows(m_main.x, m_main.tokens);
    if (!isSplit)
        return;
    addNoise(stream, flow, {DType::F32, m_main.x.data(), m_main.tokens, width, width},
             {kPositionAdd});
    NormRowsArguments norm{DType::F32,     flow.tile.count * m_main.tokens,
                           m_main.tokens,  width,
                           flow.residual,  m_weights.pre,
                           m_main.x.data()};
    if (m_weights.pre.weight)
        normRows(stream, norm);
    norm.normedType = m_options.compute;
    norm.norm = m_weights.blocks.front().norm1;
    norm.normed = m_main.normed.data();
    normRows(stream, norm);
}

void TowerPass::finishQkv(Stream& stream, int block, Flow& flow)
{
    maskQkv(stream, block, flow);
    attend(stream, block, flow);
}

void TowerPass::maskQkv(Stream& stream, int block, Flow& flow)
{
    using enum SiteCode;
    const bool isPooling = isHead(block);
    const int query = siteNumber(block, Query), key = siteNumber(block, Key),
              value = siteNumber(block, Value);
    const Index width = m_tower.width, tokens = m_main.tokens;
    const int segments = isPooling ? 2 : 3;
    drawMasks(stream, flow, steps::inBlock(block, steps::kQkv), {query, key, value});
    MaskRowsArguments args;
    args.type = m_options.compute;
    args.rows = flow.tile.count * tokens;
    args.tokens = tokens;
    args.columns = width;
    args.segments = segments;
    args.x = flow.pending;
    args.y = m_qkv.data();
    if (!isPooling)
        args.mask[0] = maskOf(query);
    args.mask[segments - 2] = maskOf(key);
    args.mask[segments - 1] = maskOf(value);
    if (flow.pending.images > 0 || !m_drawn.empty())
        maskRows(stream, args);
    if (isNoisy(flow, {query, key, value})) {
        const auto part = [&](int segment) {
            auto* data = pointer<std::byte>(m_qkv) +
                         static_cast<std::size_t>(segment * width) * sizeOf(m_options.compute);
            return NoisyRows{m_options.compute, data, tokens, width, segments * width};
        };
        if (!isPooling)
            addNoise(stream, flow, part(0), {query});
        addNoise(stream, flow, part(segments - 2), {key});
        addNoise(stream, flow, part(segments - 1), {value});
    }
    if (isPooling)
        drawHeadQuery(stream, block, flow);
}

void TowerPass::drawHeadQuery(Stream& stream, int block, const Flow& flow)
{
    const int query = siteNumber(block, SiteCode::Query);
    MaskRowsArguments args;
    args.type = m_options.compute;
    args.rows = flow.tile.count;
    args.columns = m_tower.width;
    args.x = {m_weights.headQuery.data(), 1, 1, 0}; // the same for all
    args.mask[0] = maskOf(query);
    args.y = m_query.data();
    maskRows(stream, args);
    if (isNoisy(flow, {query}))
        addNoise(stream, flow, {m_options.compute, m_query.data(), 1, m_tower.width, m_tower.width},
                 {query});
}

void TowerPass::attend(Stream& stream, int block, const Flow& flow)
{
    // Also with masks off, so that a probability of 0 changes no bit.
    if (m_plan->find(siteNumber(block, SiteCode::AttentionProbabilities)))
        return attendMasked(stream, block, flow);
    const Index heads = m_tower.heads, size = m_tower.headSize(), tokens = m_main.tokens;
    if (isHead(block)) {
        // The whole tile: how the keys of so few queries are cut depends on their number.
        const Tensor held = m_headKv.reshaped({m_sequences, tokens, 2 * heads, size});
        const Tensor context =
            Tensor::wrap(m_device, m_tail.context.data(), {m_sequences, 1, heads, size},
                         m_options.compute, m_tail.context.storage());
        attention(stream, m_query.reshaped({m_sequences, 1, heads, size}), held.narrow(2, 0, heads),
                  held.narrow(2, heads, heads), context, nullptr);
        return;
    }
    const Tensor qkv =
        m_qkv.reshaped({m_sequences, tokens, 3 * heads, size}).narrow(0, 0, flow.tile.count);
    const Tensor context =
        m_main.context.reshaped({m_sequences, tokens, heads, size}).narrow(0, 0, flow.tile.count);
    attention(stream, qkv.narrow(2, 0, heads), qkv.narrow(2, heads, heads),
              qkv.narrow(2, 2 * heads, heads), context, nullptr);
}

void TowerPass::attendMasked(Stream& stream, int block, const Flow& flow)
{
    const bool isPooling = isHead(block);
    const Index width = m_tower.width;
    const auto column = [&](Index segment) {
        return pointer<std::byte>(m_qkv) +
               static_cast<std::size_t>(segment * width) * sizeOf(m_options.compute);
    };
    MaskedAttentionArguments args;
    args.type = m_options.compute;
    args.sequences = flow.tile.count;
    args.queries = isPooling ? 1 : m_main.tokens;
    args.keys = m_main.tokens;
    args.heads = m_tower.heads;
    args.headSize = m_tower.headSize();
    args.q = isPooling ? m_query.data() : m_qkv.data();
    args.k = column(isPooling ? 0 : 1);
    args.v = column(isPooling ? 1 : 2);
    args.queryStride = isPooling ? width : 3 * width;
    args.keyStride = (isPooling ? 2 : 3) * width;
    args.o = (isPooling ? m_tail : m_main).context.data();
    args.site = siteNumber(block, SiteCode::AttentionProbabilities);
    args.seed = m_plan->perturbation().seed;
    args.sequenceKeys = flow.tile.keys;
    if (flow.isMasked())
        args.rate = m_plan->rateOf(args.site);
    maskedAttention(stream, args);
}

void TowerPass::finishOutput(Stream& stream, int block, Flow& flow)
{
    const int first = siteNumber(block, SiteCode::Output),
              second = siteNumber(block, SiteCode::OutputAgain),
              step = steps::inBlock(block, steps::kOutput);
    const Rows& rows = rowsOf(step);
    drawMasks(stream, flow, step, {first, second});
    AddRowsArguments args;
    if (isNoisy(flow, {first, second})) {
        const NoisyRows noisy{DType::F32, rows.branch.data(), rows.tokens, m_tower.width,
                              m_tower.width};
        own(stream, flow, flow.pending, noisy);
        addNoise(stream, flow, noisy, {first, second});
    }
    args.first = maskOf(first);
    args.second = maskOf(second);
    args.coin = coinOf(flow, siteNumber(block, SiteCode::DepthAttention));
    if (!isHead(block))
        args.residual = flow.residual;
    addBranch(stream, step, flow, args, -1);
}

void TowerPass::finishFc1(Stream& stream, int block, Flow& flow)
{
    const int before = siteNumber(block, SiteCode::Fc1),
              after = siteNumber(block, SiteCode::AfterActivation),
              step = steps::inBlock(block, steps::kFc1);
    const Rows& rows = rowsOf(step);
    const NoisyRows noisy{m_options.compute, rows.hidden.data(), rows.tokens, m_tower.hidden,
                          m_tower.hidden};
    drawMasks(stream, flow, step, {before, after});
    if (isNoisy(flow, {before})) {
        own(stream, flow, flow.pending, noisy);
        addNoise(stream, flow, noisy, {before});
    }
    ActivateRowsArguments args;
    args.type = m_options.compute;
    args.activation = m_tower.activation;
    args.rows = flow.tile.count * rows.tokens;
    args.tokens = rows.tokens;
    args.columns = m_tower.hidden;
    args.x = flow.pending;
    args.before = maskOf(before);
    args.after = maskOf(after);
    args.y = rows.hidden.data();
    activateRows(stream, args);
    if (isNoisy(flow, {after}))
        addNoise(stream, flow, noisy, {after});
}

void TowerPass::finishFc2(Stream& stream, int block, Flow& flow)
{
    const int first = siteNumber(block, SiteCode::Fc2),
              second = siteNumber(block, SiteCode::Fc2Again),
              last = siteNumber(block, SiteCode::BlockOutput),
              step = steps::inBlock(block, steps::kFc2);
    const Rows& rows = rowsOf(step);
    drawMasks(stream, flow, step, {first, second, last});
    AddRowsArguments args;
    if (isNoisy(flow, {first, second})) {
        const NoisyRows noisy{DType::F32, rows.branch.data(), rows.tokens, m_tower.width,
                              m_tower.width};
        own(stream, flow, flow.pending, noisy);
        addNoise(stream, flow, noisy, {first, second});
    }
    args.first = maskOf(first);
    args.second = maskOf(second);
    args.last = maskOf(last);
    args.coin = coinOf(flow, siteNumber(block, SiteCode::DepthMlp));
    args.residual = flow.residual;
    addBranch(stream, step, flow, args, last);
    if (isHead(block))
        finishFeature(stream, flow.residual, flow, {kFinalFeature});
}

NormRowsArguments TowerPass::nextNorm(int step) const
{
    const int block = steps::blockOf(step);
    const Rows& rows = rowsOf(step);
    NormRowsArguments norm;
    norm.normedType = m_options.compute;
    norm.tokens = rows.tokens;
    norm.columns = m_tower.width;
    norm.normed = rows.normed.data();
    if (steps::partOf(step) == steps::kOutput) {
        norm.norm = m_weights.blocks[static_cast<std::size_t>(block)].norm2;
    } else if (isHead(block)) {
        norm.normed = nullptr;
    } else if (block + 1 < m_tower.layers) {
        norm.norm = m_weights.blocks[static_cast<std::size_t>(block + 1)].norm1;
    } else {
        norm.norm = m_weights.post;
        if (m_tower.family == Family::Clip) { // of the class token, for the projection
            norm.tokens = 1;
            norm.normedType = DType::F32;
            norm.normed = m_last.data();
        }
    }
    return norm;
}

void TowerPass::addBranch(Stream& stream, int step, Flow& flow, AddRowsArguments args, int lastSite)
{
    const Rows& rows = rowsOf(step);
    NormRowsArguments norm = nextNorm(step);
    const bool isNoisyStream = lastSite >= 0 && isNoisy(flow, {lastSite});
    const bool isFused = norm.tokens == rows.tokens && !isNoisyStream;
    args.rows = flow.tile.count * rows.tokens;
    args.tokens = rows.tokens;
    args.columns = m_tower.width;
    args.branch = flow.pending;
    args.x = pointer<float>(rows.x);
    args.normedType = norm.normedType;
    if (isFused) {
        args.norm = norm.norm;
        args.normed = norm.normed;
    }
    addRows(stream, args);
    flow.residual = ownRows(rows.x, rows.tokens);
    if (isNoisyStream)
        addNoise(stream, flow,
                 {DType::F32, rows.x.data(), rows.tokens, m_tower.width, m_tower.width},
                 {lastSite});
    if (isFused || !norm.normed)
        return;
    norm.rows = flow.tile.count * norm.tokens;
    norm.x = flow.residual;
    normRows(stream, norm);
}

void TowerPass::finishFeature(Stream& stream, const RowSource& source, const Flow& flow,
                              std::initializer_list<int> sites)
{
    drawMasks(stream, flow, steps::last(m_tower), sites);
    MaskRowsArguments args;
    args.rows = flow.tile.count;
    args.columns = m_tower.feature;
    args.x = source;
    args.mask[0] = maskOf(*sites.begin());
    args.second = sites.size() > 1 ? maskOf(*(sites.end() - 1)) : RowMask{};
    args.y = flow.features;
    maskRows(stream, args);
    if (isNoisy(flow, sites))
        addNoise(stream, flow, {DType::F32, flow.features, 1, m_tower.feature, m_tower.feature},
                 sites);
}

} // namespace vergence::mc_embedding
