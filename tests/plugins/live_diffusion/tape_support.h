#pragma once

#include <memory>
#include <vector>

#include "core/compute/graph/functions.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/model/memory_ring.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "tests/core/compute/graph/tape_check.h"

namespace vergence::test {

/// A tape with a device and a place for parameters.
struct Tape {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    DType type;
    std::vector<std::unique_ptr<ParameterSet>> kept; ///< a tape knows parameters by their address
    Graph graph;

    explicit Tape(std::shared_ptr<Device> on, DType computes = DType::F32, bool records = false)
        : device(std::move(on)),
          stream(device->createStream()),
          type(computes),
          graph(*stream, device, {records, computes})
    {
    }
    Tensor tensor(Shape shape, const std::vector<double>& values) const
    {
        const Tensor wide = Tensor::fromHost<double>(*stream, device, std::move(shape), values);
        if (type == DType::F64)
            return wide;
        const Tensor narrow = Tensor::empty(device, wide.shape(), type);
        cast(*stream, wide, narrow);
        return narrow;
    }
    Value constant(Shape shape, const std::vector<double>& values)
    {
        return graph.constant(tensor(std::move(shape), values));
    }
    Value noise(Shape shape, int seed)
    {
        const Index count = elementCount(shape);
        return constant(std::move(shape), numbers(count, seed));
    }
    std::vector<double> host(Value value)
    {
        const Tensor wide = Tensor::empty(device, graph.shape(value), DType::F64);
        cast(*stream, graph.dense(value), wide);
        return wide.toHost<double>(*stream);
    }
};

/// All that one evaluation of the denoiser wants, different in every row.
struct Question {
    Index rows = 2;
    bool isShared = false; ///< the memory
    Index slots = 3;

    live::TapeNetwork::Input on(Tape& tape, const live::TapeNetwork& network) const
    {
        const live::UnetSettings& s = network.settings();
        const Shape image{rows, s.grid, s.grid, s.frameChannels()};
        std::vector<double> steps, buckets;
        for (Index i = 0; i < rows; ++i) {
            steps.push_back(static_cast<double>(249 + 250 * i));
            buckets.push_back(static_cast<double>((3 * i + 1) % 11));
        }
        live::TapeNetwork::Input input;
        input.x = tape.noise(image, 1);
        input.u = tape.noise(image, 2);
        input.h = tape.noise(image, 3);
        input.timesteps = network.perRow(tape.graph, steps);
        input.buckets = network.perRow(tape.graph, buckets);
        const Index memories = isShared ? 1 : rows;
        input.memory =
            network.assembleMemory(tape.graph, tokens(tape, network, memories), memories);
        live::MemoryRing ring;
        for (Index i = 0; i < slots; ++i)
            ring.write();
        const auto one = ring.bias();
        std::vector<float> bias;
        for (Index i = 0; i < memories; ++i)
            bias.insert(bias.end(), one.begin(), one.end());
        input.memoryBias = network.perKey(tape.graph, bias);
        return input;
    }

private:
    Value tokens(Tape& tape, const live::TapeNetwork& network, Index memories) const
    {
        if (slots == 0)
            return {};
        const live::UnetSettings& s = network.settings();
        const Value frames = tape.noise({memories * slots, s.grid, s.grid, s.frameChannels()}, 4);
        return reshape(tape.graph, network.encodeFrames(tape.graph, frames),
                       {memories, slots * live::kSlotTokens, s.memoryWidth()});
    }
};

} // namespace vergence::test
