#include "plugins/live_diffusion/train/row_tensors.h"

#include "core/compute/graph/functions.h"
#include "core/compute/ops/pointwise.h"

namespace vergence::live {

Tensor uploaded(Graph& graph, std::span<const float> numbers, const Shape& shape, DType type)
{
    expects(static_cast<Index>(numbers.size()) == elementCount(shape),
            "uploaded: another number of values than the shape has");
    Stream& stream = graph.stream();
    const Tensor tensor = graph.take(shape, type);
    if (type == DType::F32) {
        stream.copy(tensor.data(), numbers.data(), tensor.bytes());
    } else {
        const Tensor single = graph.take(shape, DType::F32);
        stream.copy(single.data(), numbers.data(), single.bytes());
        cast(stream, single, tensor);
    }
    return tensor;
}

DType lossType(const TapeNetwork& network)
{
    return network.parameters().masterType() == DType::F64 ? DType::F64 : DType::F32;
}

Shape picturesShape(const SampleBatch& batch)
{
    return {batch.rows, batch.grid, batch.grid, batch.channels};
}

Tensor spreadRows(Graph& graph, const SampleBatch& batch, const std::vector<double>& numbers,
                  DType type)
{
    const Tensor tensor = graph.take(picturesShape(batch), type);
    for (Index r = 0; r < batch.rows; ++r)
        fill(graph.stream(), tensor.slice(r), numbers.at(static_cast<std::size_t>(r)));
    return tensor;
}

TapeNetwork::Input networkInput(Graph& graph, const TapeNetwork& network, const SampleBatch& batch)
{
    const DType compute = network.parameters().computeType();
    const auto pictures = [&](const std::vector<float>& numbers) {
        return graph.constant(uploaded(graph, numbers, picturesShape(batch), compute));
    };
    TapeNetwork::Input input;
    input.x = pictures(batch.noisy);
    input.u = pictures(batch.input);
    input.h = pictures(batch.history);
    input.timesteps = network.perRow(graph, batch.times);
    input.buckets = network.perRow(graph, batch.buckets);
    Value tokens;
    if (batch.slots > 0) {
        const Shape frames{batch.rows * batch.slots, batch.grid, batch.grid, batch.channels};
        const Tensor memory = uploaded(graph, batch.memory, frames, compute);
        tokens = network.encodeFrames(graph, graph.constant(memory));
        tokens = reshape(graph, tokens,
                         {batch.rows, batch.slots * kSlotTokens, network.settings().memoryWidth()});
    }
    input.memory = network.assembleMemory(graph, tokens, batch.rows);
    input.memoryBias = network.perKey(graph, batch.memoryBias);
    return input;
}

} // namespace vergence::live
