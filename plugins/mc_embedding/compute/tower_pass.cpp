#include "plugins/mc_embedding/compute/tower_pass.h"

#include <algorithm>
#include <bit>

namespace vergence::mc_embedding {

namespace {

/// Products over few rows may be computed another way, in other bits.
constexpr Index kLeastTailRows = 32;

/// The first rows of a matrix under another number of columns.
Tensor reshapedStart(const Tensor& matrix, Shape shape)
{
    return Tensor::wrap(matrix.device(), matrix.data(), std::move(shape), matrix.dtype(),
                        matrix.storage());
}

} // namespace

TowerPass::TowerPass(Stream& stream, std::shared_ptr<Device> device, const TowerShape& tower,
                     const TowerWeights& weights, const EncoderOptions& options, Index sequences)
    : m_device(std::move(device)),
      m_tower(tower),
      m_weights(weights),
      m_options(options),
      m_sequences(sequences > 0 ? sequences : sequencesPerTile(tower, m_device->isCpu()))
{
    allocate(stream);
}

TowerPass::Rows TowerPass::makeRows(Stream& stream, Index rows, Index tokens) const
{
    // Zeros, as products also read rows that no sequence has.
    const auto make = [&](Index columns, DType type) {
        return Tensor::zeros(stream, m_device, {rows, columns}, type);
    };
    Rows result;
    result.rows = rows;
    result.tokens = tokens;
    result.x = make(m_tower.width, DType::F32);
    result.branch = make(m_tower.width, DType::F32);
    result.normed = make(m_tower.width, m_options.compute);
    result.context = make(m_tower.width, m_options.compute);
    result.hidden = make(m_tower.hidden, m_options.compute);
    return result;
}

void TowerPass::allocate(Stream& stream)
{
    const Index tokens = m_tower.tokens(), width = m_tower.width, rows = m_sequences * tokens;
    const Index tailRows = std::max(m_sequences, kLeastTailRows);
    const auto zeros = [&](Shape shape, DType type) {
        return Tensor::zeros(stream, m_device, std::move(shape), type);
    };
    m_main = makeRows(stream, rows, tokens);
    m_tail = makeRows(stream, tailRows, 1);
    m_patches = zeros({m_sequences * m_tower.patches(), Index{3} * m_tower.patch * m_tower.patch},
                      m_options.compute);
    m_qkv = zeros({rows, 3 * width}, m_options.compute);
    m_headKv = reshapedStart(m_qkv, {rows, 2 * width});
    m_query = zeros({m_sequences, width}, m_options.compute);
    m_last = zeros({tailRows, width}, DType::F32);
    m_feature = zeros({tailRows, m_tower.feature}, DType::F32);
    m_spread = zeros({m_sequences}, DType::F64);
    const Index perToken = std::max(3 * width, 2 * m_tower.hidden);
    const Index elements = std::max(tokens * perToken, 2 * m_tower.feature);
    m_bits = zeros({m_sequences * elements / kMaskBlock}, DType::U16);
}

std::size_t TowerPass::bytes() const
{
    std::size_t sum = 0;
    for (const Rows* rows : {&m_main, &m_tail})
        sum += rows->x.bytes() + rows->branch.bytes() + rows->normed.bytes() +
               rows->context.bytes() + rows->hidden.bytes();
    for (const Tensor* tensor :
         {&m_patches, &m_qkv, &m_query, &m_last, &m_feature, &m_spread, &m_bits})
        sum += tensor->bytes();
    return sum;
}

void TowerPass::use(const SitePlan& plan)
{
    m_plan = &plan;
    // The spread of a value is over all its tokens.
    m_classTokenOnly = m_options.classTokenOnly && m_tower.family == Family::Clip &&
                       plan.perturbation().kind != Perturbation::Kind::Gaussian;
}

bool TowerPass::isTail(int step) const
{
    if (m_tower.family == Family::ToyLinear)
        return true;
    if (step == steps::kEmbed)
        return false;
    const int block = steps::blockOf(step);
    if (m_tower.family == Family::Clip)
        return step == steps::last(m_tower) || (m_classTokenOnly && block == m_tower.layers - 1 &&
                                                steps::partOf(step) != steps::kQkv);
    return isHead(block) && steps::partOf(step) != steps::kQkv;
}

// What is kept per image.

Index TowerPass::pendingRowsEach(int step) const
{
    return step == steps::kEmbed ? m_tower.patches() : rowsOf(step).tokens;
}

Index TowerPass::pendingColumns(int step) const
{
    if (m_tower.family == Family::ToyLinear)
        return m_tower.feature;
    if (step == steps::kEmbed)
        return m_tower.width;
    if (m_tower.family == Family::Clip && step == steps::last(m_tower))
        return m_tower.feature;
    switch (steps::partOf(step)) {
    case steps::kQkv:
        return (isHead(steps::blockOf(step)) ? 2 : 3) * m_tower.width;
    case steps::kFc1:
        return m_tower.hidden;
    default:
        return m_tower.width;
    }
}

DType TowerPass::pendingType(int step) const
{
    if (step == steps::kEmbed || (m_tower.family == Family::Clip && step == steps::last(m_tower)))
        return DType::F32;
    const auto part = steps::partOf(step);
    return part == steps::kQkv || part == steps::kFc1 ? m_options.compute : DType::F32;
}

Index TowerPass::residualRowsEach(int step) const
{
    if (step == steps::kEmbed || (m_tower.family == Family::Clip && step == steps::last(m_tower)))
        return 0;
    const bool isAtHead = isHead(steps::blockOf(step));
    const auto part = steps::partOf(step);
    if (isAtHead)
        return part == steps::kFc1 || part == steps::kFc2 ? 1 : 0;
    // The first step of a tail still reads the stream of all tokens.
    return part == steps::kOutput ? m_tower.tokens() : rowsOf(step).tokens;
}

PrefixState TowerPass::makePrefix(Index images) const
{
    PrefixState prefix;
    prefix.step = m_plan->firstStep();
    const Index pending = pendingRowsEach(prefix.step), residual = residualRowsEach(prefix.step);
    prefix.pendingRows = Tensor::empty(m_device, {images, pending, pendingColumns(prefix.step)},
                                       pendingType(prefix.step));
    prefix.residualRows = Tensor::empty(m_device, {images, residual, m_tower.width});
    prefix.pending = {prefix.pendingRows.data(), pending, images, 0};
    prefix.residual = {residual > 0 ? prefix.residualRows.data() : nullptr, residual, images, 0};
    return prefix;
}

std::size_t TowerPass::prefixBytes(Index images) const
{
    const int step = m_plan->firstStep();
    const Index pending = pendingRowsEach(step) * pendingColumns(step);
    return static_cast<std::size_t>(images) *
           (static_cast<std::size_t>(pending) * sizeOf(pendingType(step)) +
            static_cast<std::size_t>(residualRowsEach(step) * m_tower.width) * sizeof(float));
}

void TowerPass::keep(Stream& stream, const Flow& flow, const PrefixState& prefix) const
{
    const auto copy = [&](const Tensor& to, const RowSource& from) {
        const std::size_t each = to.bytes() / static_cast<std::size_t>(to.extent(0));
        stream.copy(static_cast<std::byte*>(to.data()) +
                        static_cast<std::size_t>(flow.tile.first) * each,
                    from.data, static_cast<std::size_t>(flow.tile.count) * each);
    };
    copy(prefix.pendingRows, flow.pending);
    if (prefix.residual.data)
        copy(prefix.residualRows, flow.residual);
}

// The steps.

bool TowerPass::runImages(Stream& stream, const SequenceTile& tile, const Tensor& pixels,
                          PrefixState& prefix, float* features,
                          const std::function<bool()>& isStopped)
{
    Flow flow{tile, &pixels, {}, {}, features};
    for (int step = 0; step <= steps::last(m_tower); ++step) {
        if (isStopped && isStopped())
            return false;
        product(stream, step, flow);
        if (step == prefix.step)
            keep(stream, flow, prefix);
        finish(stream, step, flow);
    }
    return true;
}

bool TowerPass::runSequences(Stream& stream, const SequenceTile& tile, const Tensor& pixels,
                             const PrefixState& prefix, float* features,
                             const std::function<bool()>& isStopped)
{
    Flow flow{tile, &pixels, prefix.pending, prefix.residual, features};
    flow.pending.first = flow.residual.first = tile.first;
    for (int step = std::max(prefix.step, 0); step <= steps::last(m_tower); ++step) {
        if (isStopped && isStopped())
            return false;
        if (step != prefix.step)
            product(stream, step, flow);
        finish(stream, step, flow);
    }
    return true;
}

TowerPass TowerPass::after(Index sequences) const
{
    TowerPass rest = *this;
    const auto skip = [](Tensor& tensor, Index rows) {
        tensor = tensor.narrow(0, rows, tensor.extent(0) - rows);
    };
    for (Rows* rows : {&rest.m_main, &rest.m_tail}) {
        for (Tensor* tensor :
             {&rows->x, &rows->branch, &rows->normed, &rows->context, &rows->hidden})
            skip(*tensor, sequences * rows->tokens);
    }
    for (Tensor* tensor : {&rest.m_qkv, &rest.m_headKv})
        skip(*tensor, sequences * m_main.tokens);
    for (Tensor* tensor : {&rest.m_query, &rest.m_last, &rest.m_feature})
        skip(*tensor, sequences);
    rest.m_sequences -= sequences;
    return rest;
}

bool TowerPass::attendsTogether(int step) const
{
    return m_tower.family != Family::ToyLinear && step != steps::kEmbed &&
           steps::partOf(step) == steps::kQkv &&
           !(m_tower.family == Family::Clip && step == steps::last(m_tower)) &&
           !m_plan->find(siteNumber(steps::blockOf(step), SiteCode::AttentionProbabilities));
}

Index TowerPass::paddedBranches(const TowerShape& tower, Index count)
{
    const Index least = sequencesPerTile(tower, true) / 2; // less memory than a tile of the study
    return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max(count, least))));
}

void TowerPass::takeStream(Stream& stream, int step, const RowSource& residual,
                           Index sequence) const
{
    const auto part = steps::partOf(step);
    if (part != steps::kQkv && part != steps::kFc1) // the others have written theirs
        return;
    const auto bytes = static_cast<std::size_t>(residual.rowsEach * m_tower.width) * sizeof(float);
    auto* first = static_cast<std::byte*>(const_cast<void*>(residual.data));
    stream.copy(first + static_cast<std::size_t>(sequence) * bytes, first, bytes);
}

bool TowerPass::runBranches(Stream& stream, const Tensor& pixels, std::span<const Branch> branches,
                            const SequenceKey* key, float* features,
                            const std::function<bool(std::size_t)>& goesOn)
{
    Flow flow{{0, 1, 1, nullptr}, &pixels, {}, {}, features};
    std::size_t next = 0;
    for (int step = 0; step <= steps::last(m_tower); ++step) {
        if (goesOn && !goesOn(next))
            return false;
        Flow padded = flow;
        padded.tile.count = paddedBranches(m_tower, flow.tile.count);
        product(stream, step, padded);
        flow.pending = padded.pending;
        const bool isJoint = attendsTogether(step);
        const int block = isJoint ? steps::blockOf(step) : 0;
        Index count = flow.tile.count;
        // First, since the others may overwrite what branches read.
        for (; next < branches.size() && branches[next].step == step; ++next, ++count) {
            TowerPass own = after(count);
            own.use(branches[next].plan);
            Flow branch{{0, 1, 1, key},
                        &pixels,
                        flow.pending,
                        flow.residual,
                        features + count * m_tower.feature};
            branch.pending.images = branch.residual.images = 1; // the first sequence's
            isJoint ? own.maskQkv(stream, block, branch) : own.finish(stream, step, branch);
            if (step != steps::kEmbed && flow.residual.data)
                takeStream(stream, step, flow.residual, count);
        }
        isJoint ? maskQkv(stream, block, flow) : finish(stream, step, flow);
        flow.tile.count = count;
        if (isJoint)
            attend(stream, block, flow);
    }
    return true;
}

/// The rows of a matrix that a product takes.
Tensor TowerPass::filled(const Tensor& matrix, Index rowsEach, const Flow& flow) const
{
    return m_options.fixedRows ? matrix : matrix.narrow(0, 0, flow.tile.count * rowsEach);
}

void TowerPass::product(Stream& stream, int step, Flow& flow)
{
    if (step == steps::kEmbed)
        return embedProduct(stream, flow);
    if (m_tower.family == Family::Clip && step == steps::last(m_tower)) {
        m_weights.projection(stream, filled(m_last, 1, flow), filled(m_feature, 1, flow));
        flow.pending = ownRows(m_feature, 1);
        return;
    }
    const int block = steps::blockOf(step);
    const BlockWeights& weights = m_weights.blocks[static_cast<std::size_t>(block)];
    const Rows& rows = rowsOf(step);
    switch (steps::partOf(step)) {
    case steps::kQkv:
        weights.qkv(stream, filled(m_main.normed, m_main.tokens, flow),
                    filled(isHead(block) ? m_headKv : m_qkv, m_main.tokens, flow));
        flow.pending = ownRows(m_qkv, m_main.tokens);
        return;
    case steps::kOutput:
        return outputProduct(stream, block, flow);
    case steps::kFc1:
        weights.fc1(stream, filled(rows.normed, rows.tokens, flow),
                    filled(rows.hidden, rows.tokens, flow));
        flow.pending = ownRows(rows.hidden, rows.tokens);
        return;
    case steps::kFc2:
        weights.fc2(stream, filled(rows.hidden, rows.tokens, flow),
                    filled(rows.branch, rows.tokens, flow));
        flow.pending = ownRows(rows.branch, rows.tokens);
        return;
    }
}

void TowerPass::embedProduct(Stream& stream, Flow& flow)
{
    PatchRowsArguments args;
    args.type = m_options.compute;
    args.pixels = {flow.pixels->data(), 0, flow.tile.images, flow.tile.first};
    args.pixelType = flow.pixels->dtype();
    args.side = m_tower.imageSize;
    args.patch = m_tower.patch;
    args.sequences = flow.tile.count;
    std::ranges::copy(m_options.mean, args.mean);
    std::ranges::copy(m_options.deviation, args.deviation);
    args.y = m_patches.data();
    patchRows(stream, args);
    const Tensor result = m_tower.family == Family::ToyLinear
                              ? reshapedStart(m_feature, {m_sequences, m_tower.feature})
                              : reshapedStart(m_main.branch, {m_patches.extent(0), m_tower.width});
    m_weights.patches(stream, filled(m_patches, m_tower.patches(), flow),
                      filled(result, m_tower.patches(), flow));
    flow.pending = ownRows(result, m_tower.patches());
}

void TowerPass::outputProduct(Stream& stream, int block, Flow& flow)
{
    const int step = steps::inBlock(block, steps::kOutput);
    const Rows& rows = rowsOf(step);
    if (isTail(step) && !isHead(block)) { // the class tokens of all sequences, one after another
        MaskRowsArguments gather;
        gather.type = m_options.compute;
        gather.rows = flow.tile.count;
        gather.columns = m_tower.width;
        gather.x = ownRows(m_main.context, m_main.tokens);
        gather.y = m_tail.context.data();
        maskRows(stream, gather);
    }
    m_weights.blocks[static_cast<std::size_t>(block)].output(
        stream, filled(rows.context, rows.tokens, flow), filled(rows.branch, rows.tokens, flow));
    flow.pending = ownRows(rows.branch, rows.tokens);
}

void TowerPass::finish(Stream& stream, int step, Flow& flow)
{
    if (m_tower.family == Family::ToyLinear)
        return finishFeature(stream, flow.pending, flow, {siteNumber(0, SiteCode::Fc1)});
    if (step == steps::kEmbed)
        return finishEmbed(stream, flow);
    if (m_tower.family == Family::Clip && step == steps::last(m_tower))
        return finishFeature(stream, flow.pending, flow, {kFinalProjection, kFinalFeature});
    const int block = steps::blockOf(step);
    switch (steps::partOf(step)) {
    case steps::kQkv:
        return finishQkv(stream, block, flow);
    case steps::kOutput:
        return finishOutput(stream, block, flow);
    case steps::kFc1:
        return finishFc1(stream, block, flow);
    case steps::kFc2:
        return finishFc2(stream, block, flow);
    }
}

} // namespace vergence::mc_embedding
