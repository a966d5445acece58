#pragma once

#include <cstdint>
#include <memory>

#include "plugins/live_diffusion/engine/frame_network.h"
#include "plugins/live_diffusion/model/program.h"

namespace vergence {
class Device;
}

namespace vergence::live {

/// One of the published benchmark networks (buildReplicaA(), buildReplicaB()) behind the interface
/// of frames, for measuring: x goes in, and the history where the network takes a previous frame.
/// It denoises nothing: its blend logits are 0, and it has no memory. Bench weights of that seed.
/// Throws ContractError for switches that the device does not offer. All switches have their
/// effect; `switches.threads` other than 0 and those of `device` make a device of its own.
std::shared_ptr<FrameNetwork> makeReplicaNetwork(std::shared_ptr<Device> device,
                                                 const Program& program, std::uint64_t seed,
                                                 const Switches& switches, int rows = 1);

} // namespace vergence::live
