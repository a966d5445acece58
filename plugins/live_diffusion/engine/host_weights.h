#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/live_diffusion/engine/executor.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence {
class ParameterSet;
}

namespace vergence::live {

struct HostWeight {
    Shape shape;
    std::vector<float> values; ///< empty where they are drawn
    /// Random ones are made whenever they are asked for: kept, they would take as much memory as
    /// the network. May be null.
    std::function<std::vector<float>()> draw;

    std::vector<float> numbers() const { return draw ? draw() : values; }
};
/// Weights by name as F32 on the host: what networks of any precision, order and device are made
/// from. Never changed; shared, also by threads.
using HostWeights = std::map<std::string, HostWeight>;

/// The values (not the gradients) of trained or loaded parameters.
std::shared_ptr<const HostWeights> hostWeights(Stream& stream, const ParameterSet& parameters);
/// The inverse: fills all parameters, converting to their type. Throws ContractError that names
/// weights that are missing or of another shape, before anything is written; weights that no
/// parameter asks for are left alone.
void setParameters(Stream& stream, ParameterSet& parameters, const HostWeights& weights);
/// Start::Bench of denoiser and memory encoder, or of any program: speed only.
std::shared_ptr<const HostWeights> benchWeights(const UnetSettings& settings, std::uint64_t seed);
std::shared_ptr<const HostWeights> benchWeights(const Program& program, std::uint64_t seed);

/// Gives the weights that a program asks for. Where channels are padded otherwise than they were
/// when the weights were made, those that both have are taken and the others are 0. Throws
/// ContractError that names a weight that is missing.
WeightSource sourceOf(std::shared_ptr<const HostWeights> weights);

} // namespace vergence::live
