#include "plugins/live_diffusion/model/program_builder.h"

#include <algorithm>

#include <fmt/format.h>

namespace vergence::live {

ProgramBuilder::ProgramBuilder(std::string name)
{
    m_program.name = std::move(name);
}

int ProgramBuilder::input(const std::string& name, Index channels, Index height, Index width,
                          bool mayBeShared)
{
    m_program.values.push_back({name, channels, height, width, -1, mayBeShared});
    m_program.inputs.push_back(static_cast<int>(m_program.values.size()) - 1);
    return m_program.inputs.back();
}

ProgramOp ProgramBuilder::makeOp(OpKind kind, const std::string& name,
                                 std::vector<int> inputs) const
{
    ProgramOp op;
    op.kind = kind;
    op.name = m_block.empty() ? name : name.empty() ? m_block : m_block + "." + name;
    op.block = m_block;
    op.inputs = std::move(inputs);
    return op;
}

int ProgramBuilder::push(ProgramOp op, Index channels, Index height, Index width)
{
    ProgramValue value{op.name, channels, height, width};
    value.producer = static_cast<int>(m_program.ops.size());
    value.mayBeShared = std::all_of(op.inputs.begin(), op.inputs.end(),
                                    [&](int id) { return m_program.value(id).mayBeShared; });
    m_program.values.push_back(std::move(value));
    op.output = static_cast<int>(m_program.values.size()) - 1;
    m_program.ops.push_back(std::move(op));
    return m_program.ops.back().output;
}

int ProgramBuilder::addWeight(const std::string& name, Shape shape, WeightRole role, Index fanIn)
{
    ProgramWeight weight;
    weight.name = name;
    weight.shape = std::move(shape);
    weight.role = role;
    weight.fanIn = fanIn;
    m_program.weights.push_back(std::move(weight));
    return static_cast<int>(m_program.weights.size()) - 1;
}

void ProgramBuilder::addNormWeights(ProgramOp& op, Index channels)
{
    op.weight = addWeight(op.name + ".weight", {channels}, WeightRole::NormScale);
    op.bias = addWeight(op.name + ".bias", {channels}, WeightRole::NormShift);
}

void ProgramBuilder::addLayerWeights(ProgramOp& op, Shape shape, Index channels, Index fanIn,
                                     bool hasBias, bool endsResidual, bool startsAtZero)
{
    op.weight = addWeight(op.name + ".weight", std::move(shape), WeightRole::Matrix, fanIn);
    if (hasBias)
        op.bias = addWeight(op.name + ".bias", {channels}, WeightRole::Bias, fanIn);
    for (const int id : {op.weight, op.bias})
        if (id >= 0) {
            ProgramWeight& weight = m_program.weights[static_cast<std::size_t>(id)];
            weight.endsResidual = endsResidual;
            weight.startsAtZero = startsAtZero;
        }
}

int ProgramBuilder::convolution(const std::string& name, int x, const Conv& conv)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::Convolution, name, {x});
    op.kernel = conv.kernel;
    op.stride = conv.stride;
    op.padding = conv.padding;
    addLayerWeights(op, {conv.channels, conv.kernel, conv.kernel, in.channels}, conv.channels,
                    in.channels * conv.kernel * conv.kernel, true, conv.endsResidual,
                    conv.startsAtZero);
    const auto out = [&](Index n) {
        return (n + 2 * conv.padding - conv.kernel) / conv.stride + 1;
    };
    return push(std::move(op), conv.channels, out(in.height), out(in.width));
}

int ProgramBuilder::transposedConvolution(const std::string& name, int x, const Conv& conv)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::TransposedConvolution, name, {x});
    op.kernel = conv.kernel;
    op.stride = conv.stride;
    op.padding = conv.padding;
    const Index taps = std::max(1, conv.kernel * conv.kernel / (conv.stride * conv.stride));
    addLayerWeights(op, {in.channels, conv.kernel, conv.kernel, conv.channels}, conv.channels,
                    in.channels * taps, true, conv.endsResidual, conv.startsAtZero);
    const auto out = [&](Index n) {
        return (n - 1) * conv.stride + conv.kernel - 2 * conv.padding;
    };
    return push(std::move(op), conv.channels, out(in.height), out(in.width));
}

int ProgramBuilder::linear(const std::string& name, int x, const Dense& dense)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::Linear, name, {x});
    op.rate = dense.rate;
    addLayerWeights(op, {dense.channels, in.channels}, dense.channels, in.channels, dense.hasBias,
                    dense.endsResidual, dense.startsAtZero);
    return push(std::move(op), dense.channels, in.height, in.width);
}

int ProgramBuilder::groupNorm(const std::string& name, int x, int groups)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::GroupNorm, name, {x});
    op.groups = groups;
    addNormWeights(op, in.channels);
    return push(std::move(op), in.channels, in.height, in.width);
}

int ProgramBuilder::layerNorm(const std::string& name, int x)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::LayerNorm, name, {x});
    addNormWeights(op, in.channels);
    return push(std::move(op), in.channels, in.height, in.width);
}

int ProgramBuilder::batchNorm(const std::string& name, int x)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::BatchNorm, name, {x});
    addNormWeights(op, in.channels);
    op.mean = addWeight(op.name + ".mean", {in.channels}, WeightRole::RunningMean);
    op.variance = addWeight(op.name + ".variance", {in.channels}, WeightRole::RunningVariance);
    return push(std::move(op), in.channels, in.height, in.width);
}

int ProgramBuilder::unary(OpKind kind, const std::string& name, int x, Rate rate)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(kind, name, {x});
    op.rate = rate;
    switch (kind) {
    case OpKind::GatedGelu:
        return push(std::move(op), in.channels / 2, in.height, in.width);
    case OpKind::UpsampleNearest2:
    case OpKind::UpsampleBilinear2:
        return push(std::move(op), in.channels, in.height * 2, in.width * 2);
    case OpKind::MaxPool2:
        return push(std::move(op), in.channels, in.height / 2, in.width / 2);
    default:
        return push(std::move(op), in.channels, in.height, in.width);
    }
}

int ProgramBuilder::add(const std::string& name, int a, int b, Rate rate)
{
    const ProgramValue in = value(a);
    ProgramOp op = makeOp(OpKind::Add, name, {a, b});
    op.rate = rate;
    return push(std::move(op), in.channels, in.height, in.width);
}

int ProgramBuilder::addChannels(const std::string& name, int x, int vector)
{
    const ProgramValue in = value(x);
    return push(makeOp(OpKind::AddChannels, name, {x, vector}), in.channels, in.height, in.width);
}

int ProgramBuilder::addTable(const std::string& name, int x)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::AddTable, name, {x});
    op.weight =
        addWeight(op.name + ".weight", {in.pixels(), in.channels}, WeightRole::Table, in.channels);
    return push(std::move(op), in.channels, in.height, in.width);
}

int ProgramBuilder::concat(const std::string& name, const std::vector<int>& parts, Index channels)
{
    Index sum = 0;
    for (const int part : parts)
        sum += value(part).channels;
    const ProgramValue in = value(parts.front());
    return push(makeOp(OpKind::Concat, name, parts), std::max(sum, channels), in.height, in.width);
}

int ProgramBuilder::slice(const std::string& name, int x, Index first, Index channels)
{
    const ProgramValue in = value(x);
    ProgramOp op = makeOp(OpKind::Slice, name, {x});
    op.first = first;
    return push(std::move(op), channels, in.height, in.width);
}

int ProgramBuilder::selfAttention(const std::string& name, int qkv, int heads, Index window)
{
    const ProgramValue in = value(qkv);
    ProgramOp op = makeOp(OpKind::SelfAttention, name, {qkv});
    op.heads = heads;
    op.window = window;
    return push(std::move(op), in.channels / 3, in.height, in.width);
}

int ProgramBuilder::crossAttention(const std::string& name, int q, int keysAndValues, int bias,
                                   int heads)
{
    const ProgramValue in = value(q);
    ProgramOp op = makeOp(OpKind::CrossAttention, name, {q, keysAndValues, bias});
    op.heads = heads;
    return push(std::move(op), in.channels, in.height, in.width);
}

int ProgramBuilder::meanPool(const std::string& name, int x, Index side)
{
    return push(makeOp(OpKind::AdaptiveMeanPool, name, {x}), channels(x), side, side);
}

int ProgramBuilder::sinusoid(const std::string& name, int x, Index channels, double scale)
{
    ProgramOp op = makeOp(OpKind::Sinusoid, name, {x});
    op.rate = Rate::TimeTable;
    op.scale = scale;
    return push(std::move(op), channels, 1, 1);
}

int ProgramBuilder::plane(const std::string& name, int x, Index side, double scale)
{
    ProgramOp op = makeOp(OpKind::Plane, name, {x});
    op.scale = scale;
    return push(std::move(op), 1, side, side);
}

int ProgramBuilder::learned(const std::string& name, Index channels, Index pixels)
{
    ProgramOp op = makeOp(OpKind::Learned, name, {});
    op.weight = addWeight(op.name + ".weight", {pixels, channels}, WeightRole::Table, channels);
    return push(std::move(op), channels, pixels, 1);
}

ProgramWeight& ProgramBuilder::weightOf(const std::string& name)
{
    const int id = m_program.findWeight(name);
    expects(id >= 0, fmt::format("{} has no weight {}", m_program.name, name));
    return m_program.weights[static_cast<std::size_t>(id)];
}

void ProgramBuilder::output(int value, const std::string& name)
{
    m_program.values.at(static_cast<std::size_t>(value)).name = name;
    m_program.outputs.push_back(value);
}

Program ProgramBuilder::finish()
{
    checkProgram(m_program);
    return std::move(m_program);
}

} // namespace vergence::live
