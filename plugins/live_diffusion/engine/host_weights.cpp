#include "plugins/live_diffusion/engine/host_weights.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/compute/graph/parameter.h"
#include "core/compute/ops/pointwise.h"
#include "plugins/live_diffusion/model/parameters.h"
#include "plugins/live_diffusion/model/stop_scope.h"
#include "plugins/live_diffusion/model/unet.h"

namespace vergence::live {

namespace {

/// The corner that both shapes have, zeros elsewhere.
void copyCorner(const Shape& fromShape, std::span<const float> from, const Shape& to,
                std::size_t dimension, Index source, Index target, std::vector<float>& values)
{
    const bool isLast = dimension + 1 == to.size();
    const Index common = std::min(fromShape[dimension], to[dimension]);
    if (isLast) {
        std::copy_n(from.begin() + source * fromShape[dimension], common,
                    values.begin() + target * to[dimension]);
        return;
    }
    for (Index i = 0; i < common; ++i)
        copyCorner(fromShape, from, to, dimension + 1, source * fromShape[dimension] + i,
                   target * to[dimension] + i, values);
}

std::shared_ptr<const HostWeights> benchWeightsOf(const std::vector<const Program*>& programs,
                                                  std::uint64_t seed)
{
    const std::shared_ptr<Device> device = makeCpuDevice();
    auto weights = std::make_shared<HostWeights>();
    std::uint64_t index = 0;
    for (const Program* program : programs) {
        for (const ProgramWeight& weight : program->weights) {
            const auto draw = [device, weight, index, seed] {
                stopHere();
                std::vector<float> values(static_cast<std::size_t>(weight.size()));
                const auto stream = device->createStream();
                fillStart(*stream, weight, index, Start::Bench, seed,
                          Tensor::wrap(device, values.data(), weight.shape, DType::F32));
                return values;
            };
            (*weights)[weight.name] = {weight.shape, {}, draw};
            ++index;
        }
    }
    return weights;
}

std::string faultOf(const Parameter& parameter, const HostWeights& weights)
{
    const auto found = weights.find(parameter.name);
    if (found == weights.end())
        return parameter.name + " is missing";
    if (found->second.shape != parameter.shape)
        return fmt::format("{} is {} instead of {}", parameter.name, toString(found->second.shape),
                           toString(parameter.shape));
    return {};
}

} // namespace

void setParameters(Stream& stream, ParameterSet& parameters, const HostWeights& weights)
{
    std::vector<std::string> faults;
    for (int i = 0; i < parameters.count(); ++i) {
        if (std::string fault = faultOf(parameters[i], weights); !fault.empty())
            faults.push_back(std::move(fault));
    }
    if (!faults.empty())
        throw ContractError(fmt::format("The weights do not fit: {}.", fmt::join(faults, ", ")));
    for (int i = 0; i < parameters.count(); ++i) {
        const Parameter& parameter = parameters[i];
        const Tensor& value = parameter.value;
        const Tensor wide = Tensor::fromHost<float>(stream, value.device(), parameter.shape,
                                                    weights.at(parameter.name).numbers());
        if (value.dtype() == DType::F32)
            stream.copy(value.data(), wide.data(), value.bytes());
        else
            cast(stream, wide, value);
    }
    parameters.refreshShadows(stream);
}

std::shared_ptr<const HostWeights> hostWeights(Stream& stream, const ParameterSet& parameters)
{
    auto weights = std::make_shared<HostWeights>();
    for (int i = 0; i < parameters.count(); ++i) {
        const Parameter& parameter = parameters[i];
        Tensor value = parameter.value;
        if (value.dtype() != DType::F32) {
            value = Tensor::empty(parameter.value.device(), parameter.shape);
            cast(stream, parameter.value, value);
        }
        (*weights)[parameter.name] = {parameter.shape, value.toHost<float>(stream), {}};
    }
    return weights;
}

std::shared_ptr<const HostWeights> benchWeights(const UnetSettings& settings, std::uint64_t seed)
{
    const Program unet = buildUnet(settings), encoder = buildMemoryEncoder(settings);
    return benchWeightsOf({&unet, &encoder}, seed);
}

std::shared_ptr<const HostWeights> benchWeights(const Program& program, std::uint64_t seed)
{
    return benchWeightsOf({&program}, seed);
}

WeightSource sourceOf(std::shared_ptr<const HostWeights> weights)
{
    return [weights](const ProgramWeight& wanted) {
        const auto found = weights->find(wanted.name);
        if (found == weights->end() || found->second.shape.size() != wanted.shape.size())
            throw ContractError(
                fmt::format("The weights have no {} {}.", wanted.name, toString(wanted.shape)));
        if (found->second.shape == wanted.shape)
            return found->second.numbers();
        std::vector<float> values(static_cast<std::size_t>(wanted.size()), 0.0f);
        copyCorner(found->second.shape, found->second.numbers(), wanted.shape, 0, 0, 0, values);
        return values;
    };
}

} // namespace vergence::live
