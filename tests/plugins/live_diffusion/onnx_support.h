#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plugins/live_diffusion/model/program_builder.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/model/unet.h"
#include "plugins/live_diffusion/onnx/interpreter.h"
#include "plugins/live_diffusion/onnx/program_export.h"

namespace vergence::live::testing {

/// Numbers in [−1, 1) that repeat: the n-th of a name.
inline float madeNumber(const std::string& name, std::size_t n)
{
    std::uint64_t state = std::hash<std::string>()(name) + 0x9e3779b97f4a7c15ULL * (n + 1);
    state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ULL;
    state = (state ^ state >> 27) * 0x94d049bb133111ebULL;
    return static_cast<float>((state ^ state >> 31) >> 40) / float(1 << 23) - 1;
}

/// Weights of a network that was never trained: as large as those of the bench start.
inline std::vector<float> madeWeight(const ProgramWeight& weight)
{
    std::vector<float> values(static_cast<std::size_t>(weight.size()));
    const bool isScale = weight.role == WeightRole::NormScale;
    const float spread = std::sqrt(3.0F / static_cast<float>(weight.fanIn));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] =
            isScale ? 1 + 0.2F * madeNumber(weight.name, i) : spread * madeNumber(weight.name, i);
    return values;
}

inline OnnxArray madeArray(const std::string& name, const OnnxDims& dims)
{
    OnnxArray array{dims, std::vector<float>(static_cast<std::size_t>(elementCount(dims)))};
    for (std::size_t i = 0; i < array.values.size(); ++i)
        array.values[i] = madeNumber(name, i);
    return array;
}

/// Inputs for a file of a denoiser or a memory encoder; the memory is half full.
inline std::map<std::string, OnnxArray> madeInputs(const OnnxModel& model, const std::string& seed)
{
    std::map<std::string, OnnxArray> inputs;
    for (const OnnxValue& input : model.inputs) {
        OnnxArray array = madeArray(seed + input.name, input.dims);
        for (std::size_t i = 0; i < array.values.size(); ++i) {
            if (input.name == "t")
                array.values[i] = std::round(499.5F + 499.5F * array.values[i]);
            else if (input.name == "b")
                array.values[i] = std::round(5 + 5 * array.values[i]);
            else if (input.name == "mem_bias")
                array.values[i] = i == 256 ? 0 : i < 128 ? -0.05F * float(i / 16) : -30000;
        }
        inputs[input.name] = std::move(array);
    }
    return inputs;
}

/// A program of one operation on one input, run through export and interpreter.
inline OnnxArray runProgram(const Program& program, const WeightSource& weights,
                            const std::map<std::string, OnnxArray>& inputs,
                            const OnnxOptions& options = {})
{
    const OnnxModel model = exportProgram(program, weights, options);
    return runOnnx(model, inputs).begin()->second;
}

/// 10·log₁₀(2² ÷ mean square of differences): for values of −1 … 1.
inline double psnrOf(const std::vector<float>& a, const std::vector<float>& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
    return 10 * std::log10(4 * static_cast<double>(a.size()) / sum);
}

inline double largestDifference(const std::vector<float>& a, const std::vector<float>& b)
{
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        most = std::max(most, std::abs(double(a[i]) - b[i]));
    return most;
}

/// Weights by the ends of their names; others are 0.
inline WeightSource givenWeights(const std::map<std::string, std::vector<float>>& given)
{
    return [given](const ProgramWeight& weight) {
        for (const auto& [end, values] : given)
            if (weight.name.ends_with(end))
                return values;
        return std::vector<float>(static_cast<std::size_t>(weight.size()), 0);
    };
}

inline std::string contentOfFile(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void putFile(const std::filesystem::path& path, const std::string& content)
{
    std::ofstream(path, std::ios::binary) << content;
}

inline std::vector<std::byte> bytesOf(const OnnxTensor& tensor)
{
    std::vector<std::byte> bytes(tensor.bytes());
    tensor.load(bytes);
    return bytes;
}

inline OnnxModel nanoModel(const OnnxOptions& options = {})
{
    return exportProgram(buildUnet(unetSettings(Size::Nano, 16)), madeWeight, options);
}

/// A model whose only node takes `x` to `y`.
inline OnnxModel singleNode(const OnnxNode& node, const OnnxDims& x, const OnnxDims& y)
{
    OnnxModel model;
    model.name = "one";
    model.inputs = {{"x", OnnxType::Float, x}};
    model.outputs = {{"y", OnnxType::Float, y}};
    model.nodes = {node};
    return model;
}

/// Those that the specification of the files names.
inline std::set<std::string> specifiedOperations(int opset)
{
    return {"Conv",
            "Add",
            "Mul",
            "Sub",
            "Div",
            "Sigmoid",
            "Erf",
            "Gemm",
            "MatMul",
            "Softmax",
            "Transpose",
            "Reshape",
            "Concat",
            "Split",
            "Slice",
            "Resize",
            "Sin",
            "Cos",
            "Sqrt",
            "ReduceMean",
            "Cast",
            "LayerNormalization",
            opset == 21 ? "GroupNormalization" : "InstanceNormalization"};
}

/// Networks with the weights of a bench start, which has no zeros; made when they are asked for.
class BenchNetworks {
public:
    Stream& stream() { return *m_stream; }
    const TapeNetwork& of(Size size)
    {
        auto& network = m_networks[size];
        if (!network) {
            const UnetSettings settings = unetSettings(size, layoutOf(size).nativeGrid);
            network = std::make_unique<TapeNetwork>(*m_stream, m_device, settings);
            network->initialise(*m_stream, Start::Bench, 7);
        }
        return *network;
    }

private:
    std::shared_ptr<Device> m_device = makeCpuDevice(1); // small products: threads would wait
    std::unique_ptr<Stream> m_stream = m_device->createStream();
    std::map<Size, std::unique_ptr<TapeNetwork>> m_networks;
};

} // namespace vergence::live::testing
