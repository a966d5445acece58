#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/live_diffusion/bench/driven_network.h"
#include "plugins/live_diffusion/engine/host_weights.h"
#include "plugins/live_diffusion/model/unet_settings.h"

namespace vergence {
class Device;
}

namespace vergence::live {

/// The lab's denoiser with these weights on `device`.
BenchSubject denoiserSubject(std::shared_ptr<Device> device, const UnetSettings& settings,
                             std::shared_ptr<const HostWeights> weights);

/// The two networks of published frame rates: evaluations alone, bench weights. A has 8.5 million
/// parameters, B with 192 channels 880 million.
BenchSubject replicaA(std::shared_ptr<Device> device);
BenchSubject replicaB(std::shared_ptr<Device> device, Index channels = 192);

/// Input frames of the scene Orbits for a network of that shape (square), planes [3p², g, g] each.
std::vector<std::vector<float>> benchFrames(const FrameShape& shape, int count,
                                            std::uint32_t seed = 0);

/// SHA-256 over names, shapes and values: what a measurement's configuration calls
/// "weights_sha256".
std::string weightsHash(const HostWeights& weights);

} // namespace vergence::live
