#include "plugins/live_diffusion/onnx/program_export.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/half.h"
#include "plugins/live_diffusion/model/stop_scope.h"
#include "plugins/live_diffusion/onnx/export_values.h"

namespace vergence::live {

namespace {

/// Writes the operations one after the other.
class Exporter : ExportValues {
public:
    Exporter(const Program& program, const WeightSource& weights, const OnnxOptions& options)
        : ExportValues(program, weights, options)
    {
    }

    OnnxModel take() &&
    {
        model().irVersion = options().opset >= 21 ? 10 : 8;
        model().opset = options().opset;
        model().producer = "Vergence Studio";
        model().name = program().name;
        for (const int id : program().inputs)
            declareInput(id);
        for (const ProgramOp& op : program().ops)
            add(op);
        for (const int id : program().outputs)
            declareOutput(id);
        return std::move(model());
    }

private:
    OnnxType typeOf(const ProgramOp& op) const
    {
        return op.rate == Rate::TimeTable ? OnnxType::Float : options().type;
    }
    void add(const ProgramOp& op)
    {
        switch (op.kind) {
        case OpKind::Convolution:
            return convolution(op);
        case OpKind::Linear:
            return linear(op);
        case OpKind::GroupNorm:
            return groupNorm(op);
        case OpKind::LayerNorm:
            return layerNorm(op);
        case OpKind::Silu:
            return silu(op);
        case OpKind::GatedGelu:
            return gatedGelu(op);
        case OpKind::Add:
            return sum(op);
        case OpKind::AddChannels:
            return addChannels(op);
        case OpKind::AddTable:
            return addTable(op);
        case OpKind::Concat:
            return concat(op);
        case OpKind::Slice:
            return slice(op);
        case OpKind::SelfAttention:
            return selfAttention(op);
        case OpKind::CrossAttention:
            return crossAttention(op);
        case OpKind::UpsampleNearest2:
            return upsample(op);
        case OpKind::AdaptiveMeanPool:
            return meanPool(op);
        case OpKind::Sinusoid:
            return sinusoid(op);
        case OpKind::Learned:
            return learned(op);
        default:
            throw ContractError(fmt::format("ONNX: {} ({}) has no counterpart in the files of this "
                                            "lab, which hold denoisers only",
                                            op.name, nameOf(op.kind)));
        }
    }

    int x(const ProgramOp& op) const { return op.inputs.at(0); }
    void convolution(const ProgramOp& op)
    {
        const OnnxType type = typeOf(op);
        std::vector<std::string> inputs{as(x(op), Form::Image), kernel(op.weight, type)};
        if (op.bias >= 0)
            inputs.push_back(vector(op.bias, type));
        const std::int64_t k = op.kernel, s = op.stride, p = op.padding;
        set(op.output, Form::Image,
            build().node("Conv", op.name, inputs,
                         {{"kernel_shape", OnnxDims{k, k}},
                          {"strides", OnnxDims{s, s}},
                          {"pads", OnnxDims{p, p, p, p}}}),
            type);
    }

    void linear(const ProgramOp& op)
    {
        const OnnxType type = typeOf(op);
        const ProgramValue& in = value(x(op));
        if (in.pixels() == 1 && !in.mayBeShared) {
            std::vector<std::string> inputs{
                as(x(op), Form::Row), weight(op.weight, program().weight(op.weight).shape, type)};
            if (op.bias >= 0)
                inputs.push_back(vector(op.bias, type));
            set(op.output, Form::Row,
                build().node("Gemm", op.name, inputs, {{"transB", std::int64_t(1)}}), type);
            return;
        }
        std::string y = build().node("MatMul", op.bias >= 0 ? op.name + "/product" : op.name,
                                     {as(x(op), Form::Tokens), turned(op.weight, type)});
        if (op.bias >= 0)
            y = build().node("Add", op.name, {y, vector(op.bias, type)});
        set(op.output, Form::Tokens, y, type);
    }

    void groupNorm(const ProgramOp& op)
    {
        const ProgramValue& v = value(op.output);
        const std::string in = as(x(op), Form::Image);
        const auto epsilon = static_cast<float>(op.epsilon);
        const std::int64_t groups = op.groups, channels = v.channels;
        if (options().opset >= 21) {
            set(op.output, Form::Image,
                build().node(
                    "GroupNormalization", op.name,
                    {in, vector(op.weight, options().type), vector(op.bias, options().type)},
                    {{"num_groups", groups}, {"epsilon", epsilon}}),
                options().type);
            return;
        }
        const bool isNarrow = options().type == OnnxType::Float16;
        const OnnxDims perChannel{1, channels, 1, 1};
        const auto wide = OnnxType::Float; // statistics, scale and shift
        std::string y = isNarrow ? cast(op.name + "/wide", in, wide) : in;
        y = build().reshape(op.name + "/groups", y,
                            {options().batch, groups, channels / groups * v.pixels()});
        const auto count = static_cast<std::size_t>(groups);
        y = build().node("InstanceNormalization", op.name + "/norm",
                         {y,
                          build().floats(fmt::format("ones({})", groups),
                                         std::vector<float>(count, 1), {groups}, wide),
                          build().floats(fmt::format("zeros({})", groups),
                                         std::vector<float>(count, 0), {groups}, wide)},
                         {{"epsilon", epsilon}});
        y = build().reshape(op.name + "/image", y, dimsOf(op.output, Form::Image));
        y = build().node("Mul", op.name + "/scale", {y, weight(op.weight, perChannel, wide)});
        y = build().node("Add", isNarrow ? op.name + "/shift" : op.name,
                         {y, weight(op.bias, perChannel, wide)});
        set(op.output, Form::Image, isNarrow ? cast(op.name, y, options().type) : y,
            options().type);
    }

    void layerNorm(const ProgramOp& op)
    {
        set(op.output, Form::Tokens,
            build().node("LayerNormalization", op.name,
                         {as(x(op), Form::Tokens), vector(op.weight, options().type),
                          vector(op.bias, options().type)},
                         {{"axis", std::int64_t(-1)}, {"epsilon", static_cast<float>(op.epsilon)}}),
            options().type);
    }

    void silu(const ProgramOp& op)
    {
        const Form form = formOf(x(op));
        const std::string in = as(x(op), form);
        const std::string gate = build().node("Sigmoid", op.name + "/sigmoid", {in});
        set(op.output, form, build().node("Mul", op.name, {in, gate}), typeOf(op));
    }

    void gatedGelu(const ProgramOp& op)
    {
        const OnnxType type = typeOf(op);
        const std::int64_t half = value(op.output).channels;
        const auto parts =
            build().split(op.name + "/halves", as(x(op), Form::Tokens), -1, {half, half});
        std::string y = build().node("Mul", op.name + "/scaled",
                                     {parts[1], build().scalar(float(M_SQRT1_2), type)});
        y = build().node("Erf", op.name + "/erf", {y});
        y = build().node("Add", op.name + "/raised", {y, build().scalar(1, type)});
        y = build().node("Mul", op.name + "/gate", {y, parts[1]});
        y = build().node("Mul", op.name + "/halved", {y, build().scalar(0.5F, type)});
        set(op.output, Form::Tokens, build().node("Mul", op.name, {parts[0], y}), type);
    }

    void sum(const ProgramOp& op)
    {
        Form form = Form::Image;
        for (const Form candidate : {Form::Image, Form::Tokens, Form::Row})
            if (has(op.inputs[0], candidate) && has(op.inputs[1], candidate))
                form = candidate;
        const std::string a = as(op.inputs[0], form), b = as(op.inputs[1], form);
        set(op.output, form, build().node("Add", op.name, {a, b}), typeOf(op));
    }

    void addChannels(const ProgramOp& op)
    {
        set(op.output, Form::Image,
            build().node("Add", op.name, {as(x(op), Form::Image), narrowed(op.inputs[1])}),
            options().type);
    }

    void addTable(const ProgramOp& op)
    {
        const std::string table =
            weight(op.weight, program().weight(op.weight).shape, options().type);
        set(op.output, Form::Tokens, build().node("Add", op.name, {as(x(op), Form::Tokens), table}),
            options().type);
    }

    void concat(const ProgramOp& op)
    {
        std::vector<std::string> parts;
        Index channels = 0;
        for (const int id : op.inputs) {
            parts.push_back(as(id, Form::Image));
            channels += value(id).channels;
        }
        OnnxDims rest = dimsOf(op.output, Form::Image);
        rest[1] -= channels;
        if (rest[1] > 0)
            parts.push_back(build().floats(op.name + ".zeros",
                                           std::vector<float>(std::size_t(elementCount(rest)), 0),
                                           rest, options().type));
        set(op.output, Form::Image,
            build().node("Concat", op.name, parts, {{"axis", std::int64_t(1)}}), options().type);
    }

    void slice(const ProgramOp& op)
    {
        const std::int64_t first = op.first, last = first + value(op.output).channels;
        set(op.output, Form::Image,
            build().node("Slice", op.name,
                         {as(x(op), Form::Image), build().integers({first}),
                          build().integers({last}), build().integers({1})}),
            typeOf(op));
    }

    // Attention: heads [.., h, tokens, d], keys turned [.., h, d, tokens]

    std::string heads(const std::string& name, const std::string& tokens, int id, int count,
                      bool isTurned)
    {
        const ProgramValue& v = value(id);
        const std::int64_t h = count, d = m_headSize;
        if (v.mayBeShared)
            return build().transpose(name,
                                     build().reshape(name + ".split", tokens, {v.pixels(), h, d}),
                                     isTurned ? OnnxDims{1, 2, 0} : OnnxDims{1, 0, 2});
        return build().transpose(
            name, build().reshape(name + ".split", tokens, {options().batch, v.pixels(), h, d}),
            isTurned ? OnnxDims{0, 2, 3, 1} : OnnxDims{0, 2, 1, 3});
    }
    /// The same for windows of side w, which stand beside the batch: [B·windows, h, w², d].
    std::string windowedHeads(const std::string& name, const std::string& tokens,
                              const ProgramOp& op, bool isTurned)
    {
        const ProgramValue& v = value(op.output);
        const std::int64_t b = options().batch, w = op.window, h = op.heads, d = m_headSize;
        const std::int64_t rows = v.height / w, columns = v.width / w;
        std::string y = build().reshape(name + ".split", tokens, {b, rows, w, columns, w, h, d});
        y = build().transpose(name + ".windows", y,
                              isTurned ? OnnxDims{0, 1, 3, 5, 6, 2, 4}
                                       : OnnxDims{0, 1, 3, 5, 2, 4, 6});
        const OnnxDims dims = isTurned ? OnnxDims{b * rows * columns, h, d, w * w}
                                       : OnnxDims{b * rows * columns, h, w * w, d};
        return build().reshape(name, y, dims);
    }
    /// softmax(q k/√d + bias) v; `bias` may be empty.
    std::string attend(const std::string& name, const std::string& q, const std::string& k,
                       const std::string& v, const std::string& bias)
    {
        const auto scale = static_cast<float>(1 / std::sqrt(double(m_headSize)));
        std::string y =
            build().node("Mul", name + "/scaled", {q, build().scalar(scale, options().type)});
        y = build().node("MatMul", name + "/scores", {y, k});
        if (!bias.empty())
            y = build().node("Add", name + "/biased", {y, bias});
        y = build().node("Softmax", name + "/softmax", {y}, {{"axis", std::int64_t(-1)}});
        return build().node("MatMul", name + "/mixed", {y, v});
    }

    void selfAttention(const ProgramOp& op)
    {
        const ProgramValue& v = value(op.output);
        m_headSize = v.channels / op.heads;
        const auto parts = build().split(op.name + "/qkv", as(x(op), Form::Tokens), -1,
                                         {v.channels, v.channels, v.channels});
        const auto apart = [&](const char* suffix, std::size_t part, bool isTurned) {
            const std::string name = op.name + suffix;
            return op.window > 0 ? windowedHeads(name, parts[part], op, isTurned)
                                 : heads(name, parts[part], op.output, op.heads, isTurned);
        };
        const std::string q = apart("/q", 0, false), k = apart("/k", 1, true),
                          w = apart("/v", 2, false);
        std::string y = attend(op.name, q, k, w, "");
        if (op.window > 0) {
            const std::int64_t side = op.window, rows = v.height / side, columns = v.width / side;
            y = build().reshape(op.name + "/windows", y,
                                {options().batch, rows, columns, op.heads, side, side, m_headSize});
            y = build().transpose(op.name + "/joined", y, {0, 1, 4, 2, 5, 3, 6});
        } else {
            y = build().transpose(op.name + "/joined", y, {0, 2, 1, 3});
        }
        set(op.output, Form::Tokens, build().reshape(op.name, y, dimsOf(op.output, Form::Tokens)),
            options().type);
    }

    void crossAttention(const ProgramOp& op)
    {
        const ProgramValue& v = value(op.output);
        const int kv = op.inputs[1];
        m_headSize = v.channels / op.heads;
        const auto parts =
            build().split(op.name + "/kv", as(kv, Form::Tokens), -1, {v.channels, v.channels});
        const std::string q = heads(op.name + "/q", as(x(op), Form::Tokens), x(op), op.heads,
                                    false),
                          k = heads(op.name + "/k", parts[0], kv, op.heads, true),
                          w = heads(op.name + "/v", parts[1], kv, op.heads, false);
        std::string y = attend(op.name, q, k, w, as(op.inputs[2], Form::Tokens));
        y = build().transpose(op.name + "/joined", y, {0, 2, 1, 3});
        set(op.output, Form::Tokens, build().reshape(op.name, y, dimsOf(op.output, Form::Tokens)),
            options().type);
    }

    void upsample(const ProgramOp& op)
    {
        const std::string scales =
            build().floats("scales(1,1,2,2)", {1, 1, 2, 2}, {4}, OnnxType::Float);
        set(op.output, Form::Image,
            build().node("Resize", op.name, {as(x(op), Form::Image), "", scales},
                         {{"mode", std::string("nearest")},
                          {"coordinate_transformation_mode", std::string("asymmetric")},
                          {"nearest_mode", std::string("floor")}}),
            options().type);
    }

    /// Rows of means: [to, from], or turned.
    std::string means(Index from, Index to, bool isTurned)
    {
        std::vector<float> matrix(static_cast<std::size_t>(from * to), 0);
        for (Index i = 0; i < to; ++i) {
            const Index first = i * from / to, last = ((i + 1) * from + to - 1) / to;
            for (Index k = first; k < last; ++k)
                matrix[static_cast<std::size_t>(isTurned ? k * to + i : i * from + k)] =
                    1 / static_cast<float>(last - first);
        }
        return build().floats(fmt::format("means({},{}){}", from, to, isTurned ? ".turned" : ""),
                              std::move(matrix), isTurned ? OnnxDims{from, to} : OnnxDims{to, from},
                              options().type);
    }
    void meanPool(const ProgramOp& op)
    {
        const ProgramValue &in = value(x(op)), &out = value(op.output);
        const std::string rows =
            build().node("MatMul", op.name + "/rows",
                         {means(in.height, out.height, false), as(x(op), Form::Image)});
        set(op.output, Form::Image,
            build().node("MatMul", op.name, {rows, means(in.width, out.width, true)}),
            options().type);
    }

    void sinusoid(const ProgramOp& op)
    {
        const std::int64_t channels = value(op.output).channels, half = channels / 2;
        std::vector<float> frequencies;
        for (std::int64_t i = 0; i < half; ++i)
            frequencies.push_back(static_cast<float>(
                op.scale * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half))));
        const auto wide = OnnxType::Float;
        const std::string angles =
            build().node("Mul", op.name + "/angles",
                         {as(x(op), Form::Row),
                          build().floats(op.name + ".frequencies", frequencies, {1, half}, wide)});
        std::vector<std::string> parts{build().node("Cos", op.name + "/cos", {angles}),
                                       build().node("Sin", op.name + "/sin", {angles})};
        if (channels % 2 == 1)
            parts.push_back(build().floats(op.name + ".zeros",
                                           std::vector<float>(std::size_t(options().batch), 0),
                                           {options().batch, 1}, wide));
        set(op.output, Form::Row,
            build().node("Concat", op.name, parts, {{"axis", std::int64_t(1)}}), wide);
    }

    void learned(const ProgramOp& op)
    {
        const OnnxDims dims = dimsOf(op.output, Form::Tokens);
        const std::string table =
            weight(op.weight, program().weight(op.weight).shape, options().type);
        set(op.output, Form::Tokens, build().reshape(op.name, table, dims), options().type);
    }

    std::int64_t m_headSize = 1;
};

} // namespace

WeightSource weightsOf(Stream& stream, const ParameterSet& parameters)
{
    return [&stream, &parameters](const ProgramWeight& weight) {
        stopHere();
        const Tensor tensor = parameters.named(weight.name);
        expects(tensor.size() == weight.size(), "ONNX: no weight called " + weight.name);
        const auto floats = [&](const auto& values) {
            return std::vector<float>(values.begin(), values.end());
        };
        switch (tensor.dtype()) {
        case DType::F32:
            return tensor.toHost<float>(stream);
        case DType::F64:
            return floats(tensor.toHost<double>(stream));
        case DType::F16:
            return floats(tensor.toHost<Float16>(stream));
        case DType::BF16:
            return floats(tensor.toHost<BFloat16>(stream));
        default:
            throw ContractError("ONNX: " + weight.name + " has no floating type");
        }
    };
}

OnnxModel exportProgram(const Program& program, const WeightSource& weights,
                        const OnnxOptions& options)
{
    expects(options.type != OnnxType::Int64, "ONNX: weights of 16 or 32 bits");
    expects(options.opset == 17 || options.opset == 21, "ONNX: operator set 17 or 21");
    expects(options.batch >= 1, "ONNX: at least one row");
    return Exporter(program, weights, options).take();
}

} // namespace vergence::live
