#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plugins/live_diffusion/engine/executor_parts.h"
#include "plugins/live_diffusion/model/counts.h"
#include "plugins/live_diffusion/model/stop_scope.h"

namespace vergence::live {

namespace {

std::size_t index(Index i)
{
    return static_cast<std::size_t>(i);
}

} // namespace

/// Weights of the steps of a program, in the order that they are read.
class LayerMaker {
public:
    LayerMaker(const std::shared_ptr<Device>& device, Stream& stream, const Program& program,
               const WeightSource& source, DType type)
        : m_device(device),
          m_stream(stream),
          m_program(program),
          m_source(source),
          m_type(type)
    {
    }

    std::vector<float> numbers(int weight) const
    {
        return weight < 0 ? std::vector<float>() : m_source(m_program.weight(weight));
    }

    /// F32 [C], empty where there are none.
    Tensor vectorOf(const std::vector<float>& values) const
    {
        if (values.empty())
            return {};
        return uploaded(m_stream, m_device, {static_cast<Index>(values.size())}, values,
                        DType::F32);
    }

    struct Window {
        Index firstRow, rows, firstColumn, columns;
    };
    /// A window of a weight [.., allColumns].
    LinearPart part(const std::vector<float>& weight, Index allColumns, const Window& window,
                    Index productRows) const
    {
        const auto [firstRow, rows, firstColumn, columns] = window;
        std::vector<float> cut(index(rows * columns));
        for (Index r = 0; r < rows; ++r)
            std::copy_n(weight.begin() + (firstRow + r) * allColumns + firstColumn, columns,
                        cut.begin() + r * columns);
        LinearPart made;
        const Shape shape{rows, columns};
        made.weight = uploaded(m_stream, m_device, shape, cut, m_type);
        if (!m_device->isCpu())
            return made;
        made.packed = m_device->dense().packLinear(m_stream, made.weight, productRows);
        constexpr Index kReadsPlain = 4; // products of so few rows read the plain weight
        if (made.packed && productRows > kReadsPlain)
            made.weight = Tensor::wrap(m_device, nullptr, shape, m_type); // gives the shape
        return made;
    }

    struct Affine {
        std::vector<float> scale, shift;
    };
    /// y = x · scale + shift of a batch norm.
    Affine affineOf(const ProgramOp& op) const
    {
        Affine made{numbers(op.weight), numbers(op.bias)};
        const auto mean = numbers(op.mean), variance = numbers(op.variance);
        for (std::size_t c = 0; c < made.scale.size(); ++c) {
            made.scale[c] =
                static_cast<float>(made.scale[c] / std::sqrt(double{variance[c]} + op.epsilon));
            made.shift[c] -= mean[c] * made.scale[c];
        }
        return made;
    }

    /// Weight [Cout, ..] and bias of a product, the batch norm behind it folded in.
    std::pair<std::vector<float>, std::vector<float>> product(const Step& step) const
    {
        const ProgramOp& op = m_program.op(step.op);
        auto weight = numbers(op.weight);
        auto bias = step.ownsBias || step.time >= 0 ? numbers(op.bias) : std::vector<float>();
        if (step.batchNorm < 0)
            return {std::move(weight), std::move(bias)};
        const Affine norm = affineOf(m_program.op(step.batchNorm));
        const std::size_t each = weight.size() / norm.scale.size();
        for (std::size_t i = 0; i < weight.size(); ++i)
            weight[i] *= norm.scale[i / each];
        bias.resize(norm.scale.size(), 0.0f);
        for (std::size_t k = 0; k < bias.size(); ++k)
            bias[k] = bias[k] * norm.scale[k] + norm.shift[k];
        return {std::move(weight), std::move(bias)};
    }

    /// [Cin, k, k, Cout], or [Cin, Cout, k, k] for planes.
    Tensor transposed(const ProgramOp& op, const std::vector<float>& weight,
                      bool channelsLast) const
    {
        const Shape& shape = m_program.weight(op.weight).shape;
        if (channelsLast)
            return uploaded(m_stream, m_device, shape, weight, m_type);
        const Index in = shape[0], taps = shape[1] * shape[2], out = shape[3];
        std::vector<float> turned(weight.size());
        for (Index c = 0; c < in; ++c) {
            for (Index t = 0; t < taps; ++t) {
                for (Index k = 0; k < out; ++k)
                    turned[index((c * out + k) * taps + t)] =
                        weight[index((c * taps + t) * out + k)];
            }
        }
        return uploaded(m_stream, m_device, {in, out, shape[1], shape[2]}, turned, m_type);
    }

private:
    const std::shared_ptr<Device>& m_device;
    Stream& m_stream;
    const Program& m_program;
    const WeightSource& m_source;
    DType m_type;
};

namespace {

std::size_t bytesOf(const LinearPart& part)
{
    const bool is16 = part.weight.dtype() != DType::F32;
    const auto elements = static_cast<std::size_t>(part.weight.size());
    return part.packed ? elements * sizeof(float) : elements * (is16 ? 2 : 4);
}

} // namespace

void Executor::makeLayers(Stream& stream, const WeightSource& weights, ConvolutionTuner& tuner)
{
    const LayerMaker make(m_device, stream, m_program, weights, m_type);
    m_layers.resize(m_list.steps.size());
    for (std::size_t s = 0; s < m_list.steps.size(); ++s) {
        stopHere();
        const Step& step = m_list.steps[s];
        Layer& layer = m_layers[s];
        switch (step.kind) {
        case StepKind::Convolution:
        case StepKind::UpsampledConvolution:
        case StepKind::TransposedConvolution:
        case StepKind::Linear:
        case StepKind::JoinedLinear:
        case StepKind::QkvLinear:
            makeProduct(make, stream, step, layer, tuner);
            break;
        case StepKind::CrossAttention:
            expects(m_settings.keys != nullptr, "Executor: nobody gives keys of cross-attention");
            layer.keys = m_settings.keys(step.op);
            break;
        default:
            makeVectors(make, step, layer);
            break;
        }
        for (const Tensor* small : {&layer.scale, &layer.shift, &layer.table})
            layer.bytes += small->bytes();
        m_weightBytes += layer.bytes;
    }
}

void Executor::makeProduct(const LayerMaker& make, Stream& stream, const Step& step, Layer& layer,
                           ConvolutionTuner& tuner)
{
    const auto [weight, bias] = make.product(step);
    if (step.kind == StepKind::Convolution || step.kind == StepKind::UpsampledConvolution) {
        makeConvolution(stream, step, layer, weight, tuner);
    } else if (step.kind == StepKind::TransposedConvolution) {
        const Buffer& y = m_list.buffers[index(step.output)];
        layer.transposed = make.transposed(m_program.op(step.op), weight, y.channelsLast);
        layer.bytes = layer.transposed.bytes();
    } else {
        makeLinear(make, step, layer, weight);
    }
    if (step.time >= 0)
        std::copy(bias.begin(), bias.end(), m_timeBias.begin() + timeOffset(step.time));
    else
        layer.shift = make.vectorOf(bias);
}

void Executor::makeConvolution(Stream& stream, const Step& step, Layer& layer,
                               const std::vector<float>& weight, ConvolutionTuner& tuner)
{
    const ProgramOp& op = m_program.op(step.op);
    const Buffer &x = m_list.buffers[index(step.inputs[0])],
                 &y = m_list.buffers[index(step.output)];
    ConvolutionShape shape;
    shape.images = m_settings.maxRows;
    shape.channels = x.channels;
    shape.height = x.height;
    shape.width = x.width;
    shape.outChannels = y.channels;
    shape.kernel = op.kernel;
    shape.stride = op.stride;
    shape.padding = op.padding;
    shape.upsamples = step.kind == StepKind::UpsampledConvolution;
    shape.channelsLast = x.channelsLast;
    shape.type = m_type;
    const Switches& switches = m_settings.switches;
    const auto algorithm =
        tuner.best(stream, shape, {switches.tuned, switches.collapsedUpsampling});
    layer.convolution = std::make_unique<Convolution>(stream, m_device, shape, algorithm, weight);
    layer.bytes = layer.convolution->weightBytes();
}

/// One part for each of q, k and v where they are apart, or for each input that is joined.
void Executor::makeLinear(const LayerMaker& make, const Step& step, Layer& layer,
                          const std::vector<float>& weight) const
{
    const Buffer& y = m_list.buffers[index(step.output)];
    Index columns = 0;
    for (const int input : step.inputs)
        columns += m_list.buffers[index(input)].channels;
    const Index pieces = step.kind == StepKind::QkvLinear ? 3 : 1, rows = y.channels / pieces;
    for (Index i = 0; i < pieces; ++i) {
        Index first = 0;
        for (const int input : step.inputs) {
            const Index width = m_list.buffers[index(input)].channels;
            layer.parts.push_back(
                make.part(weight, columns, {i * rows, rows, first, width}, y.height * y.width));
            layer.bytes += bytesOf(layer.parts.back());
            first += width;
        }
    }
}

/// Norms, biases on their own, tables.
void Executor::makeVectors(const LayerMaker& make, const Step& step, Layer& layer) const
{
    if (step.kind == StepKind::Norm || step.kind == StepKind::LayerNorm) {
        layer.scale = make.vectorOf(make.numbers(m_program.op(step.op).weight));
        layer.shift = make.vectorOf(make.numbers(m_program.op(step.op).bias));
    } else if (step.kind == StepKind::Affine && step.batchNorm >= 0) {
        const auto norm = make.affineOf(m_program.op(step.batchNorm));
        layer.scale = make.vectorOf(norm.scale);
        layer.shift = make.vectorOf(norm.shift);
    } else if (step.kind == StepKind::Affine && step.time < 0) {
        layer.shift = make.vectorOf(make.numbers(m_program.op(step.op).bias));
    } else if (step.kind == StepKind::Rare) {
        layer.table = make.vectorOf(make.numbers(m_program.op(step.op).weight));
    }
}

namespace {

std::string extents(const Buffer& b)
{
    return b.height * b.width == 1 ? fmt::format("{}", b.channels)
                                   : fmt::format("{}×{}×{}", b.height, b.width, b.channels);
}

std::string planOf(const Step& step, const Convolution* convolution, bool isNaive, bool isPacked)
{
    switch (step.kind) {
    case StepKind::Convolution:
    case StepKind::UpsampledConvolution:
        return nameOf(convolution->algorithm());
    case StepKind::Linear:
    case StepKind::JoinedLinear:
    case StepKind::QkvLinear:
        return isPacked ? "packed product" : "product";
    case StepKind::TransposedConvolution:
        return "library";
    case StepKind::SelfAttention:
    case StepKind::CrossAttention:
        return isNaive ? "naive" : "flash";
    default:
        return "kernel";
    }
}

/// Of so many FLOP, what a convolution's algorithm does at least.
std::int64_t workOf(std::int64_t flop, const Convolution* convolution)
{
    if (convolution == nullptr)
        return flop;
    switch (convolution->algorithm()) {
    case ConvolutionAlgorithm::Winograd:
        return flop / kWinogradSaving;
    case ConvolutionAlgorithm::Collapsed:
        return flop * 4 / 9; // 2×2 taps instead of 3×3
    case ConvolutionAlgorithm::Library:
        break;
    }
    return flop;
}

} // namespace

void Executor::makeRecords()
{
    const auto bytesOfBuffer = [&](int id) {
        return m_list.buffers[index(id)].size() * static_cast<Index>(sizeOf(m_type));
    };
    for (std::size_t s = 0; s < m_list.steps.size(); ++s) {
        const Step& step = m_list.steps[s];
        const Layer& layer = m_layers[s];
        const ProgramOp* op = step.op >= 0 ? &m_program.op(step.op) : nullptr;
        const bool isAttention =
            step.kind == StepKind::SelfAttention || step.kind == StepKind::CrossAttention;
        const bool isNaive = isAttention && usesNaive(*op);
        const bool isProduct =
            !layer.parts.empty() || layer.convolution || isAttention || !layer.transposed.isEmpty();
        OpRecord record;
        record.name = op ? op->name : "relayout";
        record.block = op ? op->block : "relayout";
        record.kind = nameOf(step.kind);
        for (const int input : step.inputs)
            record.shape +=
                (record.shape.empty() ? "" : " + ") + extents(m_list.buffers[index(input)]);
        if (step.output >= 0)
            record.shape += " → " + extents(m_list.buffers[index(step.output)]);
        record.plan = planOf(step, layer.convolution.get(), isNaive,
                             !layer.parts.empty() && layer.parts.front().packed);
        record.flop = op && isProduct ? flopOf(m_program, *op) : 0;
        record.work = workOf(record.flop, layer.convolution.get());
        record.bytes = static_cast<std::int64_t>(layer.bytes + layer.keys.bytes());
        for (const int input : step.inputs)
            record.bytes += bytesOfBuffer(input) * (step.kind == StepKind::Norm ? 2 : 1);
        for (const int other : {step.residual, step.output})
            record.bytes += other >= 0 ? bytesOfBuffer(other) : 0;
        for (const int source : step.sources)
            record.bytes += isAttention ? 0 : m_program.value(source).size() * 4;
        if (step.target >= 0)
            record.bytes += m_program.value(step.target).size() * 4;
        const Instance& one = *m_instances.front();
        record.liveBytes = static_cast<std::int64_t>(one.plan.liveBytes[s]);
        if (isNaive) {
            record.scoreBytes = scoresOf(m_program, *op) * 4;
            record.bytes += 4 * record.scoreBytes; // written and read by two of the three kernels
        }
        record.kernels =
            kernelsOf(m_program, step, isNaive ? AttentionKind::Naive : AttentionKind::Flash);
        record.usesTensorCores =
            isProduct && !m_device->isCpu() && m_settings.switches.precision != Precision::Fp32;
        m_records.push_back(std::move(record));
    }
}

} // namespace vergence::live
