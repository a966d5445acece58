#include "plugins/live_diffusion/onnx/interpreter.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/compute/half.h"
#include "plugins/live_diffusion/model/stop_scope.h"
#include "plugins/live_diffusion/onnx/shape_inference.h"

namespace vergence::live {

namespace {

std::size_t at(const OnnxDims& dims, std::size_t i)
{
    return static_cast<std::size_t>(dims[i]);
}

std::size_t countOf(const OnnxDims& dims, std::size_t first, std::size_t last)
{
    std::size_t count = 1;
    for (std::size_t i = first; i < last; ++i)
        count *= at(dims, i);
    return count;
}

/// Steps through an array of `dims` as if it were one of `as`, which it is spread over.
std::vector<std::size_t> spreadStrides(const OnnxDims& dims, const OnnxDims& as)
{
    std::vector<std::size_t> strides(as.size(), 0);
    std::size_t step = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const std::size_t from = dims.size() - 1 - i, to = as.size() - 1 - i;
        strides[to] = dims[from] == 1 ? 0 : step;
        step *= at(dims, from);
    }
    return strides;
}

/// Calls use(k, offset) for every element k of `dims`, with the offset by these strides.
template <class Use>
void walk(const OnnxDims& dims, const std::vector<std::size_t>& strides, const Use& use)
{
    std::vector<std::size_t> index(dims.size(), 0);
    const std::size_t count = countOf(dims, 0, dims.size());
    std::size_t offset = 0;
    for (std::size_t k = 0; k < count; ++k) {
        use(k, offset);
        for (std::size_t d = dims.size(); d-- > 0;) {
            offset += strides[d];
            if (++index[d] < at(dims, d))
                break;
            offset -= strides[d] * index[d];
            index[d] = 0;
        }
    }
}

/// Runs the nodes of one graph.
class Interpreter {
public:
    Interpreter(const OnnxModel& model, OnnxShapes shapes)
        : m_model(model),
          m_shapes(std::move(shapes))
    {
    }

    std::map<std::string, OnnxArray> run(const std::map<std::string, OnnxArray>& inputs)
    {
        for (const OnnxValue& input : m_model.inputs) {
            const auto found = inputs.find(input.name);
            expects(found != inputs.end() && found->second.dims == input.dims &&
                        std::ssize(found->second.values) == elementCount(input.dims),
                    fmt::format("ONNX: {} {} as input", input.name, toString(input.dims)));
            m_values[input.name] = found->second;
            narrow(input.name);
        }
        for (const OnnxTensor& tensor : m_model.initialisers)
            if (tensor.type != OnnxType::Int64)
                m_values[tensor.name] = {tensor.dims, floatsOf(tensor)};
        countReaders();
        for (const OnnxNode& node : m_model.nodes) {
            stopHere();
            evaluate(node);
            for (const std::string& input : node.inputs)
                if (!input.empty() && --m_readers[input] == 0)
                    m_values.erase(input);
        }
        std::map<std::string, OnnxArray> outputs;
        for (const OnnxValue& output : m_model.outputs)
            outputs[output.name] = m_values.at(output.name);
        return outputs;
    }

private:
    void countReaders()
    {
        for (const OnnxNode& node : m_model.nodes)
            for (const std::string& input : node.inputs)
                ++m_readers[input];
        for (const OnnxValue& output : m_model.outputs)
            ++m_readers[output.name];
    }
    /// Rounds what the file keeps in 16 bits.
    void narrow(const std::string& name)
    {
        if (m_shapes.values.at(name).type == OnnxType::Float16)
            for (float& value : m_values[name].values)
                value = Float16(value);
    }
    const OnnxArray& in(const OnnxNode& node, std::size_t i) const
    {
        return m_values.at(node.inputs[i]);
    }

    void evaluate(const OnnxNode& node)
    {
        using Rule = void (Interpreter::*)(const OnnxNode&, OnnxArray&);
        static const std::map<std::string, Rule> kRules{
            {"Add", &Interpreter::elementwise},
            {"Cast", &Interpreter::copy},
            {"Clip", &Interpreter::clip},
            {"Concat", &Interpreter::concat},
            {"Conv", &Interpreter::convolution},
            {"Cos", &Interpreter::map},
            {"Erf", &Interpreter::map},
            {"Gemm", &Interpreter::gemm},
            {"GroupNormalization", &Interpreter::norm},
            {"InstanceNormalization", &Interpreter::norm},
            {"LayerNormalization", &Interpreter::norm},
            {"MatMul", &Interpreter::matrixProduct},
            {"Mul", &Interpreter::elementwise},
            {"Reshape", &Interpreter::copy},
            {"Resize", &Interpreter::resize},
            {"Sigmoid", &Interpreter::map},
            {"Sin", &Interpreter::map},
            {"Slice", &Interpreter::slice},
            {"Softmax", &Interpreter::softmax},
            {"Transpose", &Interpreter::transpose}};
        if (node.op == "Split") {
            split(node);
        } else {
            OnnxArray y{m_shapes.values.at(node.outputs[0]).dims, {}};
            y.values.resize(countOf(y.dims, 0, y.dims.size()));
            (this->*kRules.at(node.op))(node, y);
            m_values[node.outputs[0]] = std::move(y);
        }
        for (const std::string& output : node.outputs)
            narrow(output);
    }

    void copy(const OnnxNode& node, OnnxArray& y) { y.values = in(node, 0).values; }

    void map(const OnnxNode& node, OnnxArray& y)
    {
        const std::vector<float>& x = in(node, 0).values;
        const auto apply = [&](const auto& function) {
            std::ranges::transform(x, y.values.begin(), function);
        };
        if (node.op == "Cos")
            apply([](float v) { return std::cos(v); });
        else if (node.op == "Sin")
            apply([](float v) { return std::sin(v); });
        else if (node.op == "Erf")
            apply([](float v) { return std::erf(v); });
        else
            apply([](float v) { return 1 / (1 + std::exp(-v)); });
    }

    void elementwise(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray &a = in(node, 0), &b = in(node, 1);
        const bool isProduct = node.op == "Mul";
        walk(y.dims, spreadStrides(a.dims, y.dims),
             [&](std::size_t k, std::size_t offset) { y.values[k] = a.values[offset]; });
        walk(y.dims, spreadStrides(b.dims, y.dims), [&](std::size_t k, std::size_t offset) {
            y.values[k] =
                isProduct ? y.values[k] * b.values[offset] : y.values[k] + b.values[offset];
        });
    }

    void clip(const OnnxNode& node, OnnxArray& y)
    {
        const float low = in(node, 1).values[0], high = in(node, 2).values[0];
        std::ranges::transform(in(node, 0).values, y.values.begin(),
                               [=](float v) { return std::clamp(v, low, high); });
    }

    void concat(const OnnxNode& node, OnnxArray& y)
    {
        const std::size_t axis = axisOf(node.integer("axis", 0), y.dims);
        const std::size_t outer = countOf(y.dims, 0, axis),
                          whole = countOf(y.dims, axis, y.dims.size());
        std::size_t first = 0;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const OnnxArray& x = in(node, i);
            const std::size_t part = countOf(x.dims, axis, x.dims.size());
            for (std::size_t o = 0; o < outer; ++o)
                std::copy_n(x.values.begin() + std::ptrdiff_t(o * part), part,
                            y.values.begin() + std::ptrdiff_t(o * whole + first));
            first += part;
        }
    }
    /// Entries [first, first + y's) along one axis.
    static void window(const OnnxArray& x, std::size_t axis, std::size_t first, OnnxArray& y)
    {
        const std::size_t outer = countOf(x.dims, 0, axis),
                          inner = countOf(x.dims, axis + 1, x.dims.size()),
                          whole = at(x.dims, axis) * inner, part = at(y.dims, axis) * inner;
        for (std::size_t o = 0; o < outer; ++o)
            std::copy_n(x.values.begin() + std::ptrdiff_t(o * whole + first * inner), part,
                        y.values.begin() + std::ptrdiff_t(o * part));
    }
    void slice(const OnnxNode& node, OnnxArray& y)
    {
        const std::int64_t first = integersOf(m_model, node.inputs[1])[0],
                           axis = integersOf(m_model, node.inputs[3])[0];
        window(in(node, 0), axisOf(axis, y.dims), static_cast<std::size_t>(first), y);
    }
    void split(const OnnxNode& node)
    {
        const OnnxArray& x = in(node, 0);
        const std::size_t axis = axisOf(node.integer("axis", 0), x.dims);
        std::size_t first = 0;
        for (const std::string& output : node.outputs) {
            OnnxArray y{m_shapes.values.at(output).dims, {}};
            y.values.resize(countOf(y.dims, 0, y.dims.size()));
            window(x, axis, first, y);
            first += at(y.dims, axis);
            m_values[output] = std::move(y);
        }
    }
    static std::size_t axisOf(std::int64_t axis, const OnnxDims& dims)
    {
        return static_cast<std::size_t>(axis < 0 ? axis + std::ssize(dims) : axis);
    }

    void convolution(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray &x = in(node, 0), &w = in(node, 1);
        const OnnxDims strides = node.integers("strides", {1, 1}),
                       pads = node.integers("pads", {0, 0, 0, 0});
        const std::size_t channels = at(x.dims, 1), rows = at(y.dims, 2), columns = at(y.dims, 3);
        const auto height = x.dims[2], width = x.dims[3];
        const std::size_t taps = countOf(w.dims, 2, 4);
        for (std::size_t plane = 0; plane < countOf(y.dims, 0, 2); ++plane) {
            const std::size_t batch = plane / at(y.dims, 1), out = plane % at(y.dims, 1);
            float* to = y.values.data() + plane * rows * columns;
            stopHere();
            std::fill_n(to, rows * columns, node.inputs.size() > 2 ? in(node, 2).values[out] : 0);
            for (std::size_t c = 0; c < channels; ++c) {
                const float* from = x.values.data() + (batch * channels + c) *
                                                          static_cast<std::size_t>(height * width);
                const float* kernel = w.values.data() + (out * channels + c) * taps;
                addTaps(from, height, width, kernel, w.dims, strides, pads, to, y.dims);
            }
        }
    }
    /// One plane of the input through one plane of the kernel, added to one of the output.
    static void addTaps(const float* from, std::int64_t height, std::int64_t width,
                        const float* kernel, const OnnxDims& w, const OnnxDims& strides,
                        const OnnxDims& pads, float* to, const OnnxDims& y)
    {
        for (std::int64_t ky = 0; ky < w[2]; ++ky)
            for (std::int64_t kx = 0; kx < w[3]; ++kx) {
                const float tap = kernel[ky * w[3] + kx];
                // Output columns whose input column kx − pad + stride·column is there.
                const std::int64_t shift = kx - pads[1], step = strides[1];
                const std::int64_t first = shift < 0 ? (-shift + step - 1) / step : 0,
                                   last = std::min(y[3], (width - shift + step - 1) / step);
                for (std::int64_t row = 0; row < y[2]; ++row) {
                    const std::int64_t v = row * strides[0] + ky - pads[0];
                    if (v < 0 || v >= height)
                        continue;
                    const float* line = from + v * width + shift;
                    float* target = to + row * y[3];
                    if (step == 1)
                        for (std::int64_t column = first; column < last; ++column)
                            target[column] += tap * line[column];
                    else
                        for (std::int64_t column = first; column < last; ++column)
                            target[column] += tap * line[column * step];
                }
            }
    }

    void gemm(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray &a = in(node, 0), &b = in(node, 1);
        const std::size_t n = at(b.dims, 0), k = at(b.dims, 1);
        for (std::size_t i = 0; i < y.values.size(); ++i) {
            double sum = node.inputs.size() > 2 ? in(node, 2).values[i % n] : 0;
            for (std::size_t j = 0; j < k; ++j)
                sum += double(a.values[i / n * k + j]) * b.values[i % n * k + j];
            y.values[i] = static_cast<float>(sum);
        }
    }

    void matrixProduct(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray &a = in(node, 0), &b = in(node, 1);
        const std::size_t rank = y.dims.size(), m = at(y.dims, rank - 2), n = at(y.dims, rank - 1),
                          k = static_cast<std::size_t>(a.dims.back());
        const OnnxDims outer(y.dims.begin(), y.dims.end() - 2);
        const auto starts = [&](const OnnxArray& x) {
            std::vector<std::size_t> first;
            walk(outer, spreadStrides({x.dims.begin(), x.dims.end() - 2}, outer),
                 [&](std::size_t, std::size_t offset) { first.push_back(offset); });
            return first;
        };
        const std::vector<std::size_t> startsA = starts(a), startsB = starts(b);
        for (std::size_t o = 0; o < startsA.size(); ++o) {
            const float* left = a.values.data() + startsA[o] * m * k;
            const float* right = b.values.data() + startsB[o] * k * n;
            float* to = y.values.data() + o * m * n;
            for (std::size_t i = 0; i < m; ++i)
                for (std::size_t j = 0; j < k; ++j) {
                    const float factor = left[i * k + j];
                    for (std::size_t l = 0; l < n; ++l)
                        to[i * n + l] += factor * right[j * n + l];
                }
        }
    }

    void softmax(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray& x = in(node, 0);
        expects(axisOf(node.integer("axis", -1), x.dims) + 1 == x.dims.size(),
                "ONNX: softmax along the last axis");
        const auto width = static_cast<std::size_t>(x.dims.back());
        for (std::size_t first = 0; first < x.values.size(); first += width) {
            const float* from = x.values.data() + first;
            float* to = y.values.data() + first;
            const float most = *std::max_element(from, from + width);
            double sum = 0;
            for (std::size_t i = 0; i < width; ++i)
                sum += to[i] = std::exp(from[i] - most);
            for (std::size_t i = 0; i < width; ++i)
                to[i] = static_cast<float>(to[i] / sum);
        }
    }

    /// Normalises runs of neighbours; scale and shift belong to a channel (a place of the last axis
    /// where layers are normalised).
    void norm(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray &x = in(node, 0), &scale = in(node, 1), &shift = in(node, 2);
        const bool isLayer = node.op == "LayerNormalization";
        const std::size_t channels = scale.values.size(),
                          inner = isLayer ? 1 : countOf(x.dims, 2, x.dims.size());
        const std::size_t together =
            isLayer
                ? channels
                : inner * (node.op == "GroupNormalization"
                               ? channels / static_cast<std::size_t>(node.integer("num_groups", 1))
                               : 1);
        const double epsilon = node.number("epsilon", 1e-5F);
        for (std::size_t first = 0; first < x.values.size(); first += together) {
            double mean = 0, square = 0;
            for (std::size_t i = first; i < first + together; ++i)
                mean += x.values[i];
            mean /= static_cast<double>(together);
            for (std::size_t i = first; i < first + together; ++i)
                square += (x.values[i] - mean) * (x.values[i] - mean);
            const double factor = 1 / std::sqrt(square / static_cast<double>(together) + epsilon);
            for (std::size_t i = first; i < first + together; ++i) {
                const std::size_t c = i / inner % channels;
                y.values[i] = static_cast<float>((x.values[i] - mean) * factor * scale.values[c] +
                                                 shift.values[c]);
            }
        }
    }

    void resize(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray& x = in(node, 0);
        const std::size_t rank = y.dims.size();
        std::vector<std::size_t> factors;
        for (std::size_t d = 0; d < rank; ++d)
            factors.push_back(at(y.dims, d) / at(x.dims, d));
        std::size_t k = 0;
        for (std::size_t plane = 0; plane < countOf(y.dims, 0, rank - 2); ++plane)
            for (std::size_t row = 0; row < at(y.dims, rank - 2); ++row)
                for (std::size_t column = 0; column < at(y.dims, rank - 1); ++column, ++k)
                    y.values[k] =
                        x.values[(plane * at(x.dims, rank - 2) + row / factors[rank - 2]) *
                                     at(x.dims, rank - 1) +
                                 column / factors[rank - 1]];
    }

    void transpose(const OnnxNode& node, OnnxArray& y)
    {
        const OnnxArray& x = in(node, 0);
        const OnnxDims order = node.integers("perm", {});
        std::vector<std::size_t> strides;
        for (const std::int64_t axis : order)
            strides.push_back(countOf(x.dims, static_cast<std::size_t>(axis) + 1, x.dims.size()));
        walk(y.dims, strides,
             [&](std::size_t k, std::size_t offset) { y.values[k] = x.values[offset]; });
    }

    const OnnxModel& m_model;
    OnnxShapes m_shapes;
    std::map<std::string, OnnxArray> m_values;
    std::map<std::string, int> m_readers;
};

} // namespace

std::map<std::string, OnnxArray> runOnnx(const OnnxModel& model,
                                         const std::map<std::string, OnnxArray>& inputs)
{
    OnnxShapes shapes = inferShapes(model);
    if (!shapes.problems.empty())
        throw InputError(shapes.problems.front());
    return Interpreter(model, std::move(shapes)).run(inputs);
}

} // namespace vergence::live
