#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/compute/graph/functions.h"
#include "core/compute/ops/spatial.h"
#include "plugins/foveated_vlm/encoder/gaze_encoder.h"
#include "tests/core/compute/graph/tape_check.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"

namespace vergence::test {

/// What a test says about the encoder it wants.
struct GazePlan {
    DinoConfig vit;
    fvlm::QuerySettings query;
    fvlm::Savings savings;
    DType type = DType::F64;
    DType compute = DType::F64;
    bool freezesVit = false;
};

/// 8 px frames, patches of 4, width 8, 2 heads, 2 blocks, queries of 6.
inline DinoConfig smallestVit()
{
    DinoConfig config;
    config.width = 8;
    config.layers = 2;
    config.heads = 2;
    config.hidden = 16;
    config.patch = 4;
    config.grid = 2;
    return config;
}

inline fvlm::QuerySettings queriesOf(Index width, fvlm::QueryMode mode = fvlm::QueryMode::Deep)
{
    fvlm::QuerySettings query;
    query.mode = mode;
    query.width = width;
    return query;
}

inline fvlm::Savings noSavings()
{
    return {false, false, false, false, false, false};
}

/// An encoder with its parameters, started at random.
struct GazeSetup {
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    ParameterSet parameters;
    int vitGroup, connectorGroup;
    fvlm::GazeEncoder encoder;

    explicit GazeSetup(const GazePlan& plan, Index rows = 0, Index columns = 0,
                       std::shared_ptr<Device> on = devices().devices.front())
        : device(std::move(on)),
          stream(device->createStream()),
          parameters(device, plan.type, plan.compute),
          vitGroup(parameters.addGroup({"vit", 0, plan.freezesVit})),
          connectorGroup(parameters.addGroup({"connector", 0, false})),
          encoder({parameters, {vitGroup, vitGroup}, "encoder.dino."},
                  {parameters, {connectorGroup, connectorGroup}, "encoder."}, plan.vit, plan.query,
                  plan.savings)
    {
        parameters.allocate(*stream);
        parameters.initialise(*stream, 11);
        encoder.prepare(*stream, parameters, rows > 0 ? rows : plan.vit.grid,
                        columns > 0 ? columns : plan.vit.grid);
        if (plan.type == DType::F64)
            spread();
    }

    /// Values that leave no parameter without influence: λ and biases are not at their start.
    void spread()
    {
        for (int i = 0; i < parameters.count(); ++i) {
            const Parameter& parameter = parameters[i];
            const bool isScale = parameter.name.find("lambda") != std::string::npos ||
                                 parameter.name.find("norm") != std::string::npos;
            auto values = numbers(parameter.value.size(), 100 + i);
            for (double& value : values)
                value =
                    isScale && !parameter.name.ends_with("bias") ? 1 + 0.2 * value : 0.5 * value;
            stream->copy(parameter.value.data(), values.data(), parameter.value.bytes());
        }
    }

    Tensor doubles(Shape shape, int seed) const
    {
        const auto values = numbers(elementCount(shape), seed);
        return Tensor::fromHost<double>(*stream, device, std::move(shape), values);
    }
    Tensor integers(const std::vector<std::int32_t>& values) const
    {
        return Tensor::fromHost<std::int32_t>(*stream, device, {static_cast<Index>(values.size())},
                                              values);
    }
    std::vector<double> host(const Tensor& tensor) const { return tensor.toHost<double>(*stream); }
    Index patchNumbers() const
    {
        return 3 * static_cast<Index>(encoder.config().patch) * encoder.config().patch;
    }
    /// [frames, rows · columns, 3 · patch²] of numbers in (−1, 1).
    Tensor patches(Index frames) const
    {
        return doubles({frames, encoder.rows() * encoder.columns(), patchNumbers()}, 7);
    }
};

} // namespace vergence::test
