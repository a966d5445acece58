#include "plugins/live_diffusion/model/tape_network.h"

#include <fmt/format.h>

#include "core/compute/graph/functions.h"
#include "plugins/live_diffusion/model/memory_ring.h"

namespace vergence::live {

namespace {
Value zeros(Graph& graph, const Shape& shape, DType type)
{
    const Tensor tensor = graph.take(shape, type);
    graph.stream().fillBytes(tensor.data(), 0, tensor.bytes());
    return graph.constant(tensor);
}

/// In the type of sums of the parameters; lives in the arena of the graph.
Value sumTypeConstant(Graph& graph, const ParameterSet& parameters,
                      const std::vector<double>& numbers, const Shape& shape)
{
    const bool isWide = parameters.masterType() == DType::F64;
    const Tensor tensor = graph.take(shape, isWide ? DType::F64 : DType::F32);
    if (isWide) {
        graph.stream().copy(tensor.data(), numbers.data(), tensor.bytes());
    } else {
        const std::vector<float> narrow(numbers.begin(), numbers.end());
        graph.stream().copy(tensor.data(), narrow.data(), tensor.bytes());
    }
    return graph.constant(tensor);
}
} // namespace

TapeNetwork::TapeNetwork(Stream& stream, std::shared_ptr<Device> device,
                         const UnetSettings& settings, const ParameterSettings& parameters)
    : m_settings(settings),
      m_unet(buildUnet(settings)),
      m_memoryEncoder(buildMemoryEncoder(settings)),
      m_parameters(declareParameters(stream, std::move(device), programs(), parameters))
{
}

void TapeNetwork::initialise(Stream& stream, Start start, std::uint64_t seed)
{
    initialiseParameters(stream, *m_parameters, programs(), start, seed);
}

TapeNetwork::Output TapeNetwork::operator()(Graph& graph, const Input& input,
                                            const TapeOptions& options) const
{
    const auto outputs = runOnTape(graph, m_unet, *m_parameters,
                                   {{"x", input.x},
                                    {"u", input.u},
                                    {"h", input.h},
                                    {"t", input.timesteps},
                                    {"b", input.buckets},
                                    {"memory", input.memory},
                                    {"memory_bias", input.memoryBias}},
                                   options);
    return {outputs[0], outputs[1]};
}

Value TapeNetwork::encodeFrames(Graph& graph, Value frames) const
{
    const Value tokens =
        runOnTape(graph, m_memoryEncoder, *m_parameters, {{"frame", frames}}).front();
    return reshape(graph, tokens, {graph.shape(tokens)[0], kSlotTokens, m_settings.memoryWidth()});
}

Value TapeNetwork::assembleMemory(Graph& graph, Value tokens, Index rows) const
{
    const Index width = m_settings.memoryWidth();
    const Index filled = tokens ? graph.shape(tokens)[1] : 0;
    expects(!tokens || (graph.tensor(tokens).rank() == 3 && graph.shape(tokens)[0] == rows &&
                        graph.shape(tokens)[2] == width && filled % kSlotTokens == 0 &&
                        filled <= kNullToken),
            fmt::format("assembleMemory: tokens {} are not [{}, n · {}, {}]",
                        tokens ? toString(graph.shape(tokens)) : "", rows, kSlotTokens, width));
    const DType type = m_parameters->computeType();
    const int null = m_parameters->find("mem.null.weight");
    std::vector<Value> parts;
    if (tokens)
        parts.push_back(tokens);
    if (filled < kNullToken)
        parts.push_back(zeros(graph, {rows, kNullToken - filled, width}, type));
    parts.push_back(broadcastLeading(graph, graph.parameter(*m_parameters, null), rows));
    parts.push_back(zeros(graph, {rows, kMemoryTokens - kNullToken - 1, width}, type));
    return reshape(graph, concat(graph, parts, 1), {rows, kMemoryTokens, 1, width});
}

Value TapeNetwork::perRow(Graph& graph, const std::vector<double>& numbers) const
{
    return sumTypeConstant(graph, *m_parameters, numbers,
                           {static_cast<Index>(numbers.size()), 1, 1, 1});
}

Value TapeNetwork::perKey(Graph& graph, const std::vector<float>& bias) const
{
    const auto rows = static_cast<Index>(bias.size()) / kMemoryTokens;
    expects(rows > 0 && rows * kMemoryTokens == static_cast<Index>(bias.size()),
            fmt::format("perKey: {} numbers are no rows of {} keys", bias.size(), kMemoryTokens));
    return sumTypeConstant(graph, *m_parameters, {bias.begin(), bias.end()},
                           {rows, kMemoryTokens, 1, 1});
}

} // namespace vergence::live
