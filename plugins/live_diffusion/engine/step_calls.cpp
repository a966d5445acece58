#include <cmath>

#include "core/compute/ops/attention.h"
#include "core/compute/ops/norm.h"
#include "core/compute/ops/pointwise.h"
#include "core/compute/ops/spatial.h"
#include "core/compute/ops/structure.h"
#include "plugins/live_diffusion/engine/executor_parts.h"
#include "plugins/live_diffusion/engine/image_kernels.h"
#include "plugins/live_diffusion/engine/joined_norm_kernels.h"

namespace vergence::live {

namespace {

std::size_t index(int i)
{
    return static_cast<std::size_t>(i);
}

float* floats(const Tensor& tensor)
{
    return static_cast<float*>(tensor.data());
}

RareKind rareKindOf(OpKind kind)
{
    switch (kind) {
    case OpKind::Tanh:
        return RareKind::Tanh;
    case OpKind::MaxPool2:
        return RareKind::MaxPool2;
    case OpKind::UpsampleBilinear2:
        return RareKind::UpsampleBilinear2;
    case OpKind::AdaptiveMeanPool:
        return RareKind::MeanPool;
    case OpKind::AddTable:
        return RareKind::AddTable;
    case OpKind::Learned:
        return RareKind::Learned;
    case OpKind::Plane:
        return RareKind::Plane;
    default:
        return RareKind::Sinusoid;
    }
}

/// [B, S, 3C] of q, k and v → heads of part `i`, [B, S, H, d].
Tensor headsOf(const Tensor& packed, Index part, Index parts, Index heads)
{
    const Index width = packed.extent(2) / parts;
    return packed.reshaped({packed.extent(0), packed.extent(1), parts * heads, width / heads})
        .narrow(2, part * heads, heads);
}

} // namespace

StepBuilder::StepBuilder(Executor& executor, const Executor::Instance& instance)
    : m_e(executor),
      m_instance(instance)
{
}

void* StepBuilder::memory(std::size_t planned) const
{
    return static_cast<std::byte*>(m_e.m_arena.data()) + m_instance.plan.offsets[planned];
}

Tensor StepBuilder::temporary(std::size_t s, std::size_t which, Shape shape, DType type) const
{
    return Tensor::wrap(m_e.m_device, memory(m_instance.temporaryAt[s][which]), std::move(shape),
                        type, m_e.m_arena.storage());
}

Tensor StepBuilder::matrix(int id) const
{
    const Buffer& b = bufferOf(id);
    return image(id).reshaped({m_instance.rows * b.height * b.width, b.channels});
}

ImageShape StepBuilder::imageShape(int id) const
{
    const Buffer& b = bufferOf(id);
    return {m_instance.rows, b.channels, b.height, b.width, b.channelsLast};
}

float* StepBuilder::room() const
{
    return floats(m_e.m_room);
}

const float* StepBuilder::biasOf(std::size_t s, Index& stride) const
{
    const Step& step = stepOf(s);
    if (step.time >= 0) {
        stride = m_e.m_timeAddends.extent(1);
        return floats(m_e.m_timeAddends) + m_e.timeOffset(step.time);
    }
    const Tensor& shift = m_e.m_layers[s].shift;
    return shift.isEmpty() ? nullptr : floats(shift);
}

StepTemporaries StepBuilder::temporaries(const Executor& e, std::size_t s, int rows)
{
    StepTemporaries found;
    const Step& step = e.m_list.steps[s];
    const auto buffer = [&](int id) -> const Buffer& { return e.m_list.buffers[index(id)]; };
    const std::size_t size = sizeOf(e.m_type);
    const auto addElements = [&](Index count, std::size_t bytes) {
        if (count > 0)
            found.bytes.push_back(static_cast<std::size_t>(count) * bytes);
    };
    const auto addScores = [&](Index batches, Index heads, Index queries, Index keys) {
        addElements(batches * heads * queries * keys, sizeof(float));
        if (e.m_type != DType::F32)
            addElements(batches * heads * queries * keys, size);
    };
    switch (step.kind) {
    case StepKind::Convolution:
    case StepKind::UpsampledConvolution:
        addElements(e.m_layers[s].convolution->temporaryElements(rows), size);
        break;
    case StepKind::Norm: {
        const Buffer& y = buffer(step.output);
        if (y.channelsLast)
            found.roomNumbers = joinedNormRoom(rows, y.height * y.width, y.channels);
        break;
    }
    case StepKind::SelfAttention: {
        const ProgramOp& op = e.m_program.op(step.op);
        const Buffer &qkv = buffer(step.inputs[0]), &y = buffer(step.output);
        const Index pixels = y.height * y.width;
        const Index side = op.window > 0 ? op.window : 0;
        if (side > 0) {
            addElements(rows * qkv.size(), size);
            addElements(rows * y.size(), size);
        }
        const Index queries = side > 0 ? side * side : pixels;
        if (e.usesNaive(op))
            addScores(rows * pixels / queries, op.heads, queries, queries);
        break;
    }
    case StepKind::CrossAttention: {
        const ProgramOp& op = e.m_program.op(step.op);
        const Buffer& y = buffer(step.output);
        if (e.usesNaive(op))
            addScores(1, op.heads, y.height * y.width, e.m_layers[s].keys.extent(0));
        break;
    }
    default:
        break;
    }
    return found;
}

std::function<void(Stream&)> StepBuilder::call(std::size_t s) const
{
    const Step& step = stepOf(s);
    switch (step.kind) {
    case StepKind::Import:
        return importCall(s);
    case StepKind::Export:
        return exportCall(step);
    case StepKind::Convolution:
    case StepKind::UpsampledConvolution:
        return convolutionCall(s);
    case StepKind::TransposedConvolution:
        return transposedCall(s);
    case StepKind::Linear:
    case StepKind::JoinedLinear:
        return linearCall(s);
    case StepKind::QkvLinear:
        return qkvCall(s);
    case StepKind::Norm:
        return normCall(s);
    case StepKind::LayerNorm:
        return layerNormCall(s);
    case StepKind::Affine:
        return affineCall(s);
    case StepKind::Silu:
    case StepKind::Gelu:
        return activationCall(step);
    case StepKind::GatedGelu: {
        const Tensor x = matrix(step.inputs[0]), y = matrix(step.output);
        const GatedGeluRows rows{m_e.m_type, y.extent(0), y.extent(1), x.data(), y.data()};
        return [rows](Stream& stream) { gatedGelu(stream, rows); };
    }
    case StepKind::Add:
        return addCall(step);
    case StepKind::Concat:
        return concatCall(step);
    case StepKind::Slice:
        return sliceCall(step);
    case StepKind::Relayout:
        return relayoutCall(step);
    case StepKind::SelfAttention:
        return selfAttentionCall(s);
    case StepKind::CrossAttention:
        return crossAttentionCall(s);
    case StepKind::Upsample: {
        const Tensor x = image(step.inputs[0]), y = image(step.output);
        const bool last = bufferOf(step.output).channelsLast;
        return [x, y, last](Stream& stream) { upsampleNearest2(stream, x, last, y); };
    }
    case StepKind::Rare:
        return rareCall(s);
    }
    throw ContractError("A step of unknown kind.");
}

StepBuilder::Call StepBuilder::importCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    ImportImages p;
    p.type = m_e.m_type;
    p.shape = imageShape(step.output);
    for (std::size_t i = 0; i < step.sources.size(); ++i) {
        p.sources[i] = floats(m_e.input(step.sources[i]));
        p.channels[i] = m_e.m_program.value(step.sources[i]).channels;
    }
    p.y = image(step.output).data();
    return [p](Stream& stream) { importImages(stream, p); };
}

StepBuilder::Call StepBuilder::exportCall(const Step& step) const
{
    ExportImages p;
    p.type = m_e.m_type;
    p.shape = imageShape(step.inputs[0]);
    p.first = step.firstChannel;
    p.count = m_e.m_program.value(step.target).channels;
    p.x = image(step.inputs[0]).data();
    p.y = floats(m_e.output(step.target));
    return [p](Stream& stream) { exportImages(stream, p); };
}

StepBuilder::Call StepBuilder::convolutionCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const Convolution* convolution = m_e.m_layers[s].convolution.get();
    const Tensor x = image(step.inputs[0]), y = image(step.output);
    const Tensor residual = step.residual >= 0 ? image(step.residual) : Tensor();
    Convolution::Extras extras;
    extras.bias = biasOf(s, extras.biasStride);
    extras.silu = step.silu;
    const Index between = convolution->temporaryElements(m_instance.rows);
    const Tensor temp = between > 0 ? temporary(s, 0, {between}, m_e.m_type) : Tensor();
    return [=](Stream& stream) {
        Convolution::Extras all = extras;
        all.residual = residual.isEmpty() ? nullptr : &residual;
        (*convolution)(stream, x, y, all, temp);
    };
}

StepBuilder::Call StepBuilder::transposedCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const ProgramOp& op = opOf(step);
    const Tensor x = image(step.inputs[0]), y = image(step.output);
    const Tensor weight = m_e.m_layers[s].transposed;
    Conv2dOptions options;
    options.layout = bufferOf(step.output).channelsLast ? ImageLayout::Nhwc : ImageLayout::Nchw;
    options.stride = op.stride;
    options.padding = op.padding;
    AffineChannels bias{m_e.m_type, imageShape(step.output), y.data(), y.data()};
    bias.shift = biasOf(s, bias.shiftStride);
    return [=](Stream& stream) {
        stream.device().dense().conv2dBackwardData(stream, x, weight, y, options);
        if (bias.shift)
            affineChannels(stream, bias);
    };
}

StepBuilder::Call StepBuilder::linearCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const std::vector<LinearPart> parts = m_e.m_layers[s].parts;
    std::vector<Tensor> inputs;
    for (const int input : step.inputs)
        inputs.push_back(matrix(input));
    const Tensor y = matrix(step.output);
    const Tensor bias = m_e.m_layers[s].shift;
    const Tensor residual = step.residual >= 0 ? matrix(step.residual) : Tensor();
    const Activation activation = step.silu ? Activation::Silu : Activation::None;
    expects(step.time < 0 || m_instance.rows == 1 || !step.silu,
            "a pointwise convolution with an addend per row has no activation");
    AffineChannels rowBias{m_e.m_type, imageShape(step.output), y.data(), y.data()};
    if (step.time >= 0)
        rowBias.shift = biasOf(s, rowBias.shiftStride);
    return [=](Stream& stream) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            MatmulOptions options;
            options.transposeB = true;
            options.packedB = parts[i].packed.get();
            if (i == 0) {
                options.bias = bias.isEmpty() ? nullptr : &bias;
                options.residual = residual.isEmpty() ? nullptr : &residual;
                options.activation = activation;
            } else {
                options.beta = 1;
            }
            stream.device().dense().matmul(stream, inputs[i], parts[i].weight, y, options);
        }
        if (rowBias.shift)
            affineChannels(stream, rowBias);
    };
}

StepBuilder::Call StepBuilder::qkvCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const std::vector<LinearPart> parts = m_e.m_layers[s].parts;
    const Tensor x = matrix(step.inputs[0]), y = matrix(step.output);
    std::vector<Tensor> outputs;
    const Index width = y.extent(1) / static_cast<Index>(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i)
        outputs.push_back(y.narrow(1, static_cast<Index>(i) * width, width));
    return [=](Stream& stream) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            MatmulOptions options;
            options.transposeB = true;
            options.packedB = parts[i].packed.get();
            stream.device().dense().matmul(stream, x, parts[i].weight, outputs[i], options);
        }
    };
}

StepBuilder::Call StepBuilder::normCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const ProgramOp& op = opOf(step);
    const Executor::Layer& layer = m_e.m_layers[s];
    const Buffer& b = bufferOf(step.output);
    if (!b.channelsLast) {
        const Tensor x = image(step.inputs[0]), y = image(step.output);
        const Tensor weight = layer.scale, bias = layer.shift;
        GroupNormArgs args;
        args.groups = op.groups;
        args.epsilon = op.epsilon;
        args.silu = step.silu;
        args.channelsLast = false;
        return [=](Stream& stream) {
            GroupNormArgs all = args;
            all.weight = &weight;
            all.bias = &bias;
            groupNorm(stream, x, y, all);
        };
    }
    JoinedNormArguments p;
    p.type = m_e.m_type;
    p.images = m_instance.rows;
    p.pixels = b.height * b.width;
    p.a = image(step.inputs[0]).data();
    p.channelsA = bufferOf(step.inputs[0]).channels;
    if (step.inputs.size() == 2) {
        p.b = image(step.inputs[1]).data();
        p.channelsB = bufferOf(step.inputs[1]).channels;
    }
    p.y = image(step.output).data();
    p.weight = floats(layer.scale);
    p.bias = floats(layer.shift);
    p.groups = op.groups;
    p.epsilon = op.epsilon;
    p.silu = step.silu;
    p.room = room();
    return [p](Stream& stream) { joinedNorm(stream, p); };
}

StepBuilder::Call StepBuilder::layerNormCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const Tensor x = matrix(step.inputs[0]), y = matrix(step.output);
    const Tensor weight = m_e.m_layers[s].scale, bias = m_e.m_layers[s].shift;
    const double epsilon = opOf(step).epsilon;
    return [=](Stream& stream) {
        LayerNormArgs args;
        args.weight = &weight;
        args.bias = &bias;
        args.epsilon = epsilon;
        layerNorm(stream, x, y, args);
    };
}

StepBuilder::Call StepBuilder::affineCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const Tensor& scale = m_e.m_layers[s].scale;
    AffineChannels p{m_e.m_type, imageShape(step.output), image(step.inputs[0]).data(),
                     image(step.output).data()};
    p.scale = scale.isEmpty() ? nullptr : floats(scale);
    p.shift = biasOf(s, p.shiftStride);
    p.silu = step.silu;
    return [p](Stream& stream) { affineChannels(stream, p); };
}

StepBuilder::Call StepBuilder::activationCall(const Step& step) const
{
    const Tensor x = image(step.inputs[0]), y = image(step.output);
    const Activation kind = step.kind == StepKind::Silu ? Activation::Silu : Activation::GeluErf;
    return [=](Stream& stream) { activate(stream, kind, x, y); };
}

StepBuilder::Call StepBuilder::addCall(const Step& step) const
{
    std::vector<Tensor> inputs;
    for (const int input : step.inputs)
        inputs.push_back(image(input));
    const Tensor y = image(step.output);
    return [=](Stream& stream) {
        addScaled(stream, 1, inputs[0], 1, inputs[1], y);
        for (std::size_t i = 2; i < inputs.size(); ++i)
            addScaled(stream, 1, y, 1, inputs[i], y);
    };
}

StepBuilder::Call StepBuilder::concatCall(const Step& step) const
{
    const Tensor y = image(step.output);
    const int dimension = bufferOf(step.output).channelsLast ? 3 : 1;
    std::vector<std::pair<Tensor, Tensor>> copies;
    Index first = 0;
    for (const int input : step.inputs) {
        const Tensor x = image(input);
        copies.emplace_back(x, y.narrow(dimension, first, x.extent(dimension)));
        first += x.extent(dimension);
    }
    const bool pads = first < y.extent(dimension);
    return [=](Stream& stream) {
        if (pads)
            stream.fillBytes(y.data(), 0, y.bytes());
        for (const auto& [from, to] : copies)
            copyStrided(stream, from, to);
    };
}

StepBuilder::Call StepBuilder::sliceCall(const Step& step) const
{
    const int dimension = bufferOf(step.inputs[0]).channelsLast ? 3 : 1;
    const Tensor y = image(step.output);
    const Tensor x =
        image(step.inputs[0]).narrow(dimension, step.firstChannel, bufferOf(step.output).channels);
    return [=](Stream& stream) { copyStrided(stream, x, y); };
}

StepBuilder::Call StepBuilder::relayoutCall(const Step& step) const
{
    const bool toLast = bufferOf(step.output).channelsLast;
    const Tensor x =
        image(step.inputs[0])
            .permuted(toLast ? std::vector<int>{0, 2, 3, 1} : std::vector<int>{0, 3, 1, 2});
    const Tensor y = image(step.output);
    return [=](Stream& stream) { copyStrided(stream, x, y); };
}

StepBuilder::Call StepBuilder::attentionCall(const Tensor& q, const Tensor& k, const Tensor& v,
                                             const Tensor& o, const Tensor& bias,
                                             std::size_t s) const
{
    const Step& step = stepOf(s);
    if (!m_e.usesNaive(opOf(step))) {
        return [=](Stream& stream) {
            AttentionArgs args;
            args.bias = bias.isEmpty() ? nullptr : &bias;
            attention(stream, q, k, v, o, nullptr, args);
        };
    }
    const Index batches = q.extent(0), queries = q.extent(1), heads = q.extent(2);
    const Index keys = k.extent(1);
    const bool isWide = m_e.m_type == DType::F32;
    const std::size_t first = m_instance.temporaryAt[s].size() - (isWide ? 1 : 2);
    const Shape shape{batches, heads, queries, keys};
    const Tensor scores = temporary(s, first, shape, DType::F32);
    const Tensor probabilities = isWide ? scores : temporary(s, first + 1, shape, m_e.m_type);
    const std::vector<int> byHead{0, 2, 1, 3};
    const Tensor qh = q.permuted(byHead), kh = k.permuted(byHead), vh = v.permuted(byHead),
                 oh = o.permuted(byHead);
    MatmulOptions options;
    options.transposeB = true;
    options.alpha = 1 / std::sqrt(static_cast<double>(q.extent(3)));
    SoftmaxRows rows{batches * heads * queries,
                     keys,
                     floats(scores),
                     bias.isEmpty() ? nullptr : floats(bias),
                     batches * heads * queries,
                     m_e.m_type,
                     probabilities.data()};
    return [=](Stream& stream) {
        DenseMath& dense = stream.device().dense();
        dense.matmul(stream, qh, kh, scores, options);
        softmaxRows(stream, rows);
        dense.matmul(stream, probabilities, vh, oh);
    };
}

StepBuilder::Call StepBuilder::selfAttentionCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const ProgramOp& op = opOf(step);
    const Buffer& b = bufferOf(step.output);
    const Index rows = m_instance.rows, heads = op.heads, side = op.window;
    const Tensor packed = image(step.inputs[0]), y = image(step.output);
    const auto inner = [&](const Tensor& from, const Tensor& to) {
        return attentionCall(
            headsOf(from, 0, 3, heads), headsOf(from, 1, 3, heads), headsOf(from, 2, 3, heads),
            to.reshaped({to.extent(0), to.extent(1), heads, to.extent(2) / heads}), Tensor(), s);
    };
    const Index pixels = b.height * b.width;
    if (side == 0)
        return inner(packed.reshaped({rows, pixels, 3 * b.channels}),
                     y.reshaped({rows, pixels, b.channels}));
    const Index down = b.height / side, across = b.width / side;
    const auto windows = [&](const Tensor& t, Index channels) {
        return t.reshaped({rows, down, side, across, side, channels}).permuted({0, 1, 3, 2, 4, 5});
    };
    const auto space = [&](std::size_t which, Index channels) {
        return temporary(s, which, {rows, down, across, side, side, channels}, m_e.m_type);
    };
    const Tensor in = space(0, 3 * b.channels), out = space(1, b.channels);
    const Index count = rows * down * across;
    const Call middle = inner(in.reshaped({count, side * side, 3 * b.channels}),
                              out.reshaped({count, side * side, b.channels}));
    const Tensor from = windows(packed, 3 * b.channels), to = windows(y, b.channels);
    return [=](Stream& stream) {
        copyStrided(stream, from, in);
        middle(stream);
        copyStrided(stream, out, to);
    };
}

StepBuilder::Call StepBuilder::crossAttentionCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const Buffer& b = bufferOf(step.output);
    const Index heads = opOf(step).heads, pixels = b.height * b.width;
    const Tensor& cache = m_e.m_layers[s].keys;
    const Index keys = cache.extent(0);
    const Tensor kv = cache.reshaped({1, keys, cache.extent(1)});
    const Tensor k = headsOf(kv, 0, 2, heads), v = headsOf(kv, 1, 2, heads);
    std::vector<Call> calls;
    for (Index row = 0; row < m_instance.rows; ++row) {
        const auto rowOf = [&](int id) {
            return image(id).slice(row).reshaped({1, pixels, heads, b.channels / heads});
        };
        const Tensor bias = m_e.m_keyBias.slice(row).reshaped({1, 1, 1, keys});
        calls.push_back(attentionCall(rowOf(step.inputs[0]), k, v, rowOf(step.output), bias, s));
    }
    return [calls](Stream& stream) {
        for (const Call& call : calls)
            call(stream);
    };
}

StepBuilder::Call StepBuilder::rareCall(std::size_t s) const
{
    const Step& step = stepOf(s);
    const ProgramOp& op = opOf(step);
    RareImage p;
    p.kind = rareKindOf(op.kind);
    p.type = m_e.m_type;
    p.to = imageShape(step.output);
    p.y = image(step.output).data();
    p.scale = op.scale;
    if (!step.inputs.empty()) {
        p.from = imageShape(step.inputs[0]);
        p.x = image(step.inputs[0]).data();
    }
    if (!step.sources.empty())
        p.numbers = floats(m_e.input(step.sources[0]));
    const Tensor& table = m_e.m_layers[s].table;
    p.table = table.isEmpty() ? nullptr : floats(table);
    return [p](Stream& stream) { rareImage(stream, p); };
}

} // namespace vergence::live
