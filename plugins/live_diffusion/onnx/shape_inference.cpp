#include "plugins/live_diffusion/onnx/shape_inference.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/half.h"

namespace vergence::live {

namespace {

/// What is wrong with one node.
struct Fault {
    std::string text;
};

void require(bool condition, const std::string& text)
{
    if (!condition)
        throw Fault{text};
}

/// Extents of two operands as they spread over each other, from the innermost outwards.
OnnxDims broadcast(const OnnxDims& a, const OnnxDims& b)
{
    OnnxDims dims(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const std::int64_t m = i < a.size() ? a[a.size() - 1 - i] : 1,
                           n = i < b.size() ? b[b.size() - 1 - i] : 1;
        require(m == n || m == 1 || n == 1,
                fmt::format("operands of {} and {}", toString(a), toString(b)));
        dims[dims.size() - 1 - i] = std::max(m, n);
    }
    return dims;
}

std::size_t axisOf(std::int64_t axis, const OnnxDims& dims)
{
    const auto rank = static_cast<std::int64_t>(dims.size());
    require(axis >= -rank && axis < rank, fmt::format("axis {} of {}", axis, toString(dims)));
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// Infers the outputs of single nodes.
class Inference {
public:
    explicit Inference(const OnnxModel& model) : m_model(model) {}

    OnnxShapes run()
    {
        for (const OnnxTensor& tensor : m_model.initialisers)
            declare({tensor.name, tensor.type, tensor.dims});
        for (const OnnxValue& input : m_model.inputs)
            declare(input);
        for (const OnnxNode& node : m_model.nodes)
            visit(node);
        for (const OnnxValue& output : m_model.outputs) {
            const auto found = m_shapes.values.find(output.name);
            if (found == m_shapes.values.end())
                complain(fmt::format("Nothing makes the output {}.", output.name));
            else if (found->second != output)
                complain(fmt::format("The output {} is {} {}, not {} {} as the file says.",
                                     output.name, nameOf(found->second.type),
                                     toString(found->second.dims), nameOf(output.type),
                                     toString(output.dims)));
        }
        return std::move(m_shapes);
    }

private:
    using Outputs = std::vector<OnnxValue>; ///< names are filled in later

    void complain(std::string sentence) { m_shapes.problems.push_back(std::move(sentence)); }
    void declare(const OnnxValue& value)
    {
        if (value.name.empty() || !m_shapes.values.emplace(value.name, value).second)
            complain(fmt::format("The name \"{}\" is empty or there twice.", value.name));
        for (const std::int64_t dim : value.dims)
            if (dim < 1)
                complain(fmt::format("{} has the extents {}.", value.name, toString(value.dims)));
    }
    void visit(const OnnxNode& node)
    {
        if (!m_nodes.insert(node.name).second)
            complain(fmt::format("Two nodes are called {}.", node.name));
        try {
            Outputs outputs = infer(node);
            require(outputs.size() == node.outputs.size(),
                    fmt::format("{} outputs", node.outputs.size()));
            for (std::size_t i = 0; i < outputs.size(); ++i) {
                outputs[i].name = node.outputs[i];
                declare(outputs[i]);
            }
        } catch (const Fault& fault) {
            complain(fmt::format("{} ({}) has {}.", node.name, node.op, fault.text));
        } catch (const InputError& error) {
            complain(error.what());
        }
    }

    const OnnxValue& in(const OnnxNode& node, std::size_t i) const
    {
        require(i < node.inputs.size(), fmt::format("{} inputs", node.inputs.size()));
        const auto found = m_shapes.values.find(node.inputs[i]);
        require(found != m_shapes.values.end(),
                fmt::format("an input {} that nothing before it makes", node.inputs[i]));
        return found->second;
    }
    bool hasInput(const OnnxNode& node, std::size_t i) const
    {
        return i < node.inputs.size() && !node.inputs[i].empty();
    }
    static void requireFloating(const OnnxValue& value)
    {
        require(value.type != OnnxType::Int64, "whole numbers where others belong");
    }
    void requireSameType(const OnnxNode& node) const
    {
        requireFloating(in(node, 0));
        for (std::size_t i = 1; i < node.inputs.size(); ++i)
            require(
                in(node, i).type == in(node, 0).type,
                fmt::format("{} beside {}", nameOf(in(node, i).type), nameOf(in(node, 0).type)));
    }

    Outputs infer(const OnnxNode& node)
    {
        using Rule = Outputs (Inference::*)(const OnnxNode&);
        static const std::map<std::string, Rule> kRules{
            {"Add", &Inference::elementwise},
            {"Cast", &Inference::cast},
            {"Clip", &Inference::clip},
            {"Concat", &Inference::concat},
            {"Conv", &Inference::convolution},
            {"Cos", &Inference::same},
            {"Erf", &Inference::same},
            {"Gemm", &Inference::gemm},
            {"GroupNormalization", &Inference::groupNorm},
            {"InstanceNormalization", &Inference::instanceNorm},
            {"LayerNormalization", &Inference::layerNorm},
            {"MatMul", &Inference::matrixProduct},
            {"Mul", &Inference::elementwise},
            {"Reshape", &Inference::reshape},
            {"Resize", &Inference::resize},
            {"Sigmoid", &Inference::same},
            {"Sin", &Inference::same},
            {"Slice", &Inference::slice},
            {"Softmax", &Inference::same},
            {"Split", &Inference::split},
            {"Transpose", &Inference::transpose}};
        const auto rule = kRules.find(node.op);
        require(rule != kRules.end(), "an operation that this lab does not write");
        return (this->*rule->second)(node);
    }

    Outputs same(const OnnxNode& node)
    {
        requireSameType(node);
        require(node.inputs.size() == 1, "more than one input");
        if (node.op == "Softmax")
            axisOf(node.integer("axis", -1), in(node, 0).dims);
        return {in(node, 0)};
    }
    Outputs elementwise(const OnnxNode& node)
    {
        requireSameType(node);
        require(node.inputs.size() == 2, "no two operands");
        return {{"", in(node, 0).type, broadcast(in(node, 0).dims, in(node, 1).dims)}};
    }
    Outputs clip(const OnnxNode& node)
    {
        requireSameType(node);
        require(node.inputs.size() == 3 && in(node, 1).dims.empty() && in(node, 2).dims.empty(),
                "no two numbers as bounds");
        return {in(node, 0)};
    }
    Outputs cast(const OnnxNode& node)
    {
        const std::int64_t to = node.integer("to", 0);
        require(to == std::int64_t(OnnxType::Float) || to == std::int64_t(OnnxType::Float16),
                fmt::format("a cast to type {}", to));
        requireFloating(in(node, 0));
        return {{"", static_cast<OnnxType>(to), in(node, 0).dims}};
    }
    Outputs concat(const OnnxNode& node)
    {
        requireSameType(node);
        OnnxDims dims = in(node, 0).dims;
        const std::size_t axis = axisOf(node.integer("axis", 0), dims);
        for (std::size_t i = 1; i < node.inputs.size(); ++i) {
            OnnxDims other = in(node, i).dims;
            require(other.size() == dims.size(), "parts of different ranks");
            dims[axis] += other[axis];
            other[axis] = dims[axis];
            require(other == dims, "parts of different extents");
        }
        return {{"", in(node, 0).type, dims}};
    }
    Outputs convolution(const OnnxNode& node)
    {
        requireSameType(node);
        const OnnxDims &x = in(node, 0).dims, &w = in(node, 1).dims;
        require(x.size() == 4 && w.size() == 4 && w[1] == x[1],
                fmt::format("{} for {}", toString(w), toString(x)));
        require(node.inputs.size() < 3 || in(node, 2).dims == OnnxDims{w[0]}, "another bias");
        const OnnxDims kernel = node.integers("kernel_shape", {w[2], w[3]}),
                       strides = node.integers("strides", {1, 1}),
                       pads = node.integers("pads", {0, 0, 0, 0});
        require(kernel == OnnxDims{w[2], w[3]} && strides.size() == 2 && pads.size() == 4 &&
                    strides[0] > 0 && strides[1] > 0,
                "attributes that do not fit");
        const auto out = [&](std::size_t i) {
            return (x[2 + i] + pads[i] + pads[2 + i] - kernel[i]) / strides[i] + 1;
        };
        return {{"", in(node, 0).type, {x[0], w[0], out(0), out(1)}}};
    }
    Outputs gemm(const OnnxNode& node)
    {
        requireSameType(node);
        const OnnxDims &a = in(node, 0).dims, &b = in(node, 1).dims;
        require(node.integer("transB", 0) == 1 && node.integer("transA", 0) == 0 && a.size() == 2 &&
                    b.size() == 2 && a[1] == b[1],
                fmt::format("{} by {}", toString(a), toString(b)));
        require(node.inputs.size() < 3 || in(node, 2).dims == OnnxDims{b[0]}, "another bias");
        return {{"", in(node, 0).type, {a[0], b[0]}}};
    }
    Outputs matrixProduct(const OnnxNode& node)
    {
        requireSameType(node);
        const OnnxDims &a = in(node, 0).dims, &b = in(node, 1).dims;
        require(node.inputs.size() == 2 && a.size() >= 2 && b.size() >= 2 &&
                    a.back() == b[b.size() - 2],
                fmt::format("{} by {}", toString(a), toString(b)));
        OnnxDims dims = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
        dims.push_back(a[a.size() - 2]);
        dims.push_back(b.back());
        return {{"", in(node, 0).type, dims}};
    }
    Outputs norm(const OnnxNode& node, std::int64_t channels)
    {
        requireSameType(node);
        require(node.inputs.size() == 3 && in(node, 1).dims == OnnxDims{channels} &&
                    in(node, 2).dims == OnnxDims{channels},
                "scale and shift that do not fit");
        return {in(node, 0)};
    }
    Outputs instanceNorm(const OnnxNode& node)
    {
        require(in(node, 0).dims.size() >= 3, "nothing to take means over");
        return norm(node, in(node, 0).dims[1]);
    }
    Outputs layerNorm(const OnnxNode& node)
    {
        require(axisOf(node.integer("axis", -1), in(node, 0).dims) + 1 == in(node, 0).dims.size(),
                "another axis than the last");
        return norm(node, in(node, 0).dims.back());
    }
    Outputs groupNorm(const OnnxNode& node)
    {
        require(m_model.opset >= 21, "scales per group before operator set 21");
        const OnnxDims& dims = in(node, 0).dims;
        const std::int64_t groups = node.integer("num_groups", 0);
        require(dims.size() >= 3 && groups > 0 && dims[1] % groups == 0,
                fmt::format("{} groups of {}", groups, toString(dims)));
        return norm(node, dims[1]);
    }
    Outputs reshape(const OnnxNode& node)
    {
        const OnnxDims dims = integersOf(m_model, in(node, 1).name);
        require(std::ranges::all_of(dims, [](std::int64_t dim) { return dim > 0; }) &&
                    elementCount(dims) == elementCount(in(node, 0).dims),
                fmt::format("{} made of {}", toString(dims), toString(in(node, 0).dims)));
        return {{"", in(node, 0).type, dims}};
    }
    Outputs resize(const OnnxNode& node)
    {
        require(!hasInput(node, 1) && hasInput(node, 2) && !hasInput(node, 3), "other inputs");
        require(node.text("mode", "") == "nearest" &&
                    node.text("coordinate_transformation_mode", "") == "asymmetric" &&
                    node.text("nearest_mode", "") == "floor",
                "another way to resize");
        const auto tensor =
            std::ranges::find(m_model.initialisers, in(node, 2).name, &OnnxTensor::name);
        require(tensor != m_model.initialisers.end(), "scales that are no constant");
        OnnxDims dims = in(node, 0).dims;
        const std::vector<float> scales = floatsOf(*tensor);
        require(scales.size() == dims.size(), "scales that do not fit");
        for (std::size_t i = 0; i < dims.size(); ++i)
            dims[i] = static_cast<std::int64_t>(static_cast<float>(dims[i]) * scales[i]);
        return {{"", in(node, 0).type, dims}};
    }
    Outputs slice(const OnnxNode& node)
    {
        const OnnxDims starts = integersOf(m_model, in(node, 1).name),
                       ends = integersOf(m_model, in(node, 2).name),
                       axes = integersOf(m_model, in(node, 3).name);
        require(starts.size() == 1 && ends.size() == 1 && axes.size() == 1, "several axes");
        OnnxDims dims = in(node, 0).dims;
        std::int64_t& extent = dims[axisOf(axes[0], dims)];
        require(starts[0] >= 0 && starts[0] < ends[0] && ends[0] <= extent, "another range");
        extent = ends[0] - starts[0];
        return {{"", in(node, 0).type, dims}};
    }
    Outputs split(const OnnxNode& node)
    {
        const OnnxDims sizes = integersOf(m_model, in(node, 1).name);
        const OnnxDims& dims = in(node, 0).dims;
        const std::size_t axis = axisOf(node.integer("axis", 0), dims);
        std::int64_t sum = 0;
        Outputs outputs;
        for (const std::int64_t size : sizes) {
            outputs.push_back({"", in(node, 0).type, dims});
            outputs.back().dims[axis] = size;
            sum += size;
        }
        require(sum == dims[axis], fmt::format("parts of {} in all", sum));
        return outputs;
    }
    Outputs transpose(const OnnxNode& node)
    {
        const OnnxDims& dims = in(node, 0).dims;
        const OnnxDims order = node.integers("perm", {});
        OnnxDims sorted = order, turned;
        std::ranges::sort(sorted);
        for (std::size_t i = 0; i < sorted.size(); ++i)
            require(sorted[i] == static_cast<std::int64_t>(i), "an order that is none");
        require(order.size() == dims.size(), "an order of another rank");
        for (const std::int64_t axis : order)
            turned.push_back(dims[static_cast<std::size_t>(axis)]);
        return {{"", in(node, 0).type, turned}};
    }

    const OnnxModel& m_model;
    OnnxShapes m_shapes;
    std::set<std::string> m_nodes;
};

} // namespace

OnnxShapes inferShapes(const OnnxModel& model)
{
    return Inference(model).run();
}

OnnxDims integersOf(const OnnxModel& model, const std::string& name)
{
    const auto found = std::ranges::find(model.initialisers, name, &OnnxTensor::name);
    if (found == model.initialisers.end() || found->type != OnnxType::Int64)
        throw InputError(fmt::format("{} is no constant of whole numbers.", name));
    OnnxDims values(static_cast<std::size_t>(elementCount(found->dims)));
    found->load(std::as_writable_bytes(std::span(values)));
    return values;
}

std::vector<float> floatsOf(const OnnxTensor& tensor)
{
    std::vector<std::byte> bytes(tensor.bytes());
    tensor.load(bytes);
    std::vector<float> values(static_cast<std::size_t>(elementCount(tensor.dims)));
    if (tensor.type == OnnxType::Float) {
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }
    if (tensor.type != OnnxType::Float16)
        throw InputError(fmt::format("{} holds no floating numbers.", tensor.name));
    for (std::size_t i = 0; i < values.size(); ++i) {
        Float16 half;
        std::memcpy(&half.bits, bytes.data() + 2 * i, 2);
        values[i] = half;
    }
    return values;
}

} // namespace vergence::live
